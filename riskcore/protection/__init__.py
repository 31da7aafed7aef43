"""Protection: from risk to a safe file, and what it may tell."""
