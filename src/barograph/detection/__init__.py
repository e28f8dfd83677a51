"""Find change points: one file per detector."""
