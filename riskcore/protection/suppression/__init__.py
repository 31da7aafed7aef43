"""Local suppression: which values to blank, and how few will do."""
