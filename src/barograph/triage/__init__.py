"""What people do with candidates: verdicts, tickets, groups and clusters."""
