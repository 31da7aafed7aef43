"""The function: the individual risk and its like, on arrays; a library by itself."""
