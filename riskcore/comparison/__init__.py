"""What a safe file is still good for: measures of what protection has changed."""
