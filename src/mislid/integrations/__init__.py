"""Integrations with hyperparameter search packages."""
