"""What can be asked: one file for each noun."""
