# cython: language_level=3, boundscheck=False
"""The risk of many cells from Cython, without Python's lock."""

from array import array

from libc.stdint cimport int64_t

cdef extern from "riskcore.h" nogil:
    void riskcore_individual_risk_array(
        const double *f, const double *p, double *out, int64_t n)


def risks(const double[::1] f, const double[::1] p):
    """Return the risk of each cell."""
    cdef int64_t n = f.shape[0]
    if p.shape[0] != n:
        raise ValueError("f and p differ in length")
    result = array("d", bytes(8 * n))
    cdef double[::1] out = result
    if n:
        with nogil:
            riskcore_individual_risk_array(&f[0], &p[0], &out[0], n)
    return result
