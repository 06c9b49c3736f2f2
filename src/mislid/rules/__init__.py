"""What identification algorithms are composed of; each rule a small compiled function."""
