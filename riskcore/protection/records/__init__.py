"""Records on their way: prepared, protected, beside their originals."""
