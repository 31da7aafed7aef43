"""Risk of cells, of files and of households, from arrays alone."""
