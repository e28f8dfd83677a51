"""What describes a change point: the stretches before and after it, as numbers."""
