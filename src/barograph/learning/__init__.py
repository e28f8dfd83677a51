"""What learns: candidate models, the online pair, releases."""
