"""The paper's data, representations and experiments."""
