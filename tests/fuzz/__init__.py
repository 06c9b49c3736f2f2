"""Nasty inputs for the public names and the command line; see CONTRIBUTING.md."""
