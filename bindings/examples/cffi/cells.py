"""The risk of cells through CFFI, without a compiler: it opens libriskcore.so."""

from array import array

from cffi import FFI

ffi = FFI()
ffi.cdef("""
    double riskcore_individual_risk(double f, double p);
    void riskcore_individual_risk_array(
        const double *f, const double *p, double *out, int64_t n);
""")
riskcore = ffi.dlopen("./libriskcore.so")

f, p = array("d", [1, 2, 3, 2.5, 40]), array("d", [0.01, 0.02, 0.5, 0.03, 0.3])
out = array("d", bytes(8 * len(f)))
riskcore.riskcore_individual_risk_array(
    ffi.from_buffer("double[]", f),
    ffi.from_buffer("double[]", p),
    ffi.from_buffer("double[]", out),
    len(f),
)
print(*out, sep="\n")
