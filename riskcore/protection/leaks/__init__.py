"""What a protected file still tells of what it should not."""
