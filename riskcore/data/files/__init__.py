"""Files: formats, their readers and writers, and their replacement as a whole."""
