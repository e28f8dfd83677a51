"""Measure how good it is: metrics, protocols, tables and figures."""
