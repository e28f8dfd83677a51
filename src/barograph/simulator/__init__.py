"""Simulated histories with known changes, to train on before there are verdicts."""
