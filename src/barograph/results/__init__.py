"""Results: the table of results, its series, histories, candidates and files."""
