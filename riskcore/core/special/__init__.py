"""Special functions in Numba kernels; they know nothing of risk."""
