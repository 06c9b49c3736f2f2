"""Studies from the searches of other packages."""
