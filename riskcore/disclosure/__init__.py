"""What a released file of any origin tells an intruder."""
