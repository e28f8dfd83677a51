"""The experiments and tables of the papers."""
