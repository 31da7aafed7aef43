"""Files for the tests of formats."""


def written(folder, text, name="a.csv"):
    """Write text or bytes to a file, and return its path."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
