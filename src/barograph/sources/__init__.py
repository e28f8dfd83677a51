"""Where data comes from: one file per place."""
