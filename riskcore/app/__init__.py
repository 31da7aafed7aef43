"""The whole job in the browser: from a file to a safe file, by hand."""
