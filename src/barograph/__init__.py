"""Barograph finds where benchmark performance changed, and learns from every verdict."""

__version__ = "0.1.0"
