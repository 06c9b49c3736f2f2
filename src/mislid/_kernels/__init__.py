"""Everything that is compiled. `Engine` and `geometry` call it; nothing else does."""
