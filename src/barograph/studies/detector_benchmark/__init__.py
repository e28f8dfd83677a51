"""The detector comparison: injected changes, people's marks, repeated runs and verdicts."""
