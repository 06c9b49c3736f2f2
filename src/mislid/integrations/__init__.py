"""Ways in from other tools; each imports its tool when it is called."""
