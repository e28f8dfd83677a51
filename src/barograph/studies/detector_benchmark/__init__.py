"""A fair ground for detectors: series with known changes, and the tables of how they fare."""
