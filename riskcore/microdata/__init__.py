"""Records and what is counted from them: columns, cells, files."""
