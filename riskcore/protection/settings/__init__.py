"""Settings of a protection: their kinds, words and rules."""
