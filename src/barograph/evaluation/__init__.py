"""Measures of quality: metrics, splits, matching, and agreement with people."""
