"""Hidden values that a protected file still shows."""
