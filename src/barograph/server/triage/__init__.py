"""Candidates and what people do with them: verdicts, tickets, groups and clusters."""
