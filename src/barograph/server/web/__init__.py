"""The HTTP service: results come in, decisions go back, people give verdicts.

Nothing is imported here: the background process does without the web framework.
"""
