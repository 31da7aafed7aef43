"""The individual risk and related functions on arrays: a library in itself."""
