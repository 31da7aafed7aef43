"""Records, and what is counted from them: files, engines, columns, cells."""
