"""The online models: what they learn from, and how."""
