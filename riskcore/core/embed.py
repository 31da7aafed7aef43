"""The ufuncs as C function pointers, for code that does not pass through Python.

The pointers are ``ctypes`` functions. Their ``address`` can be handed to a C library, a
Cython module or SciPy, and Numba calls them in compiled code. They give the same bits
as the ufuncs, are thread-safe, need no GIL, and stay valid as long as the process
lives. They neither allocate nor raise: outside the domain the value is nan. On x86-64
and arm64 they work in any floating-point mode: each call checks the mode of its thread,
sets rounding to nearest with subnormal numbers if it differs, and restores it. On other
processors, and in user code under ``@njit`` that calls ``individual_risk_bounds``, the
mode must be the default. ``c_array_function`` clears the floating-point exception flags
that make NumPy warn.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from inspect import signature
from typing import Any, Protocol

import numpy as np

from riskcore.core.compiled.jit import Native, code_in_c, loop_on_arrays
from riskcore.core.compiled.ufunc_maker import UfuncSource, made_from
from riskcore.core.risk import bounds, individual, posterior, prior

__all__ = ["NAMES", "CFunction", "c_array_function", "c_function", "c_integrand"]

_HOMES = {
    name: module
    for module in (bounds, individual, posterior, prior)
    for name in module.UFUNCS
    if name != "risk_enclosure"  # its results make sense only together
}
NAMES = tuple(_HOMES)
"""The ufuncs that are available by name."""

_DOUBLES = ctypes.POINTER(ctypes.c_double)

_pointers: dict[tuple[str, np.ufunc], Any] = {}
_lock = threading.RLock()


class CFunction(Protocol):
    """A ``ctypes`` function with its address and declaration.

    Attributes
    ----------
    address : int
        Address of the machine code.
    declaration : str
        Its type in C.

    Examples
    --------
    >>> function = c_function("individual_risk")
    >>> function.declaration
    'double individual_risk(double f, double p);'
    >>> function(1.0, 0.5)
    0.6931471805599453
    """

    address: int
    declaration: str

    def __call__(self, *args: Any) -> Any:
        """Call the machine code, without the GIL."""


def c_function(function: str | np.ufunc) -> CFunction:
    """
    Return a function of doubles as a C function pointer, ``double (double, double)``.

    Parameters
    ----------
    function : str or numpy.ufunc
        Name of a ufunc of ``riskcore``, or any ufunc of the package, such as those of
        ``riskcore.forms``; with one result.

    Returns
    -------
    CFunction
        The same object at every call.

    Raises
    ------
    ValueError
        If no ufunc of that name is known.
    TypeError
        If the function is not a ufunc of riskcore, or has several results.

    See Also
    --------
    c_array_function : the vectorized loop, far faster on many cells.

    Notes
    -----
    The first call ever compiles, for some seconds; see ``notes/embedding.md``.

    Examples
    --------
    >>> from riskcore.embed import c_function
    >>> risk = c_function("individual_risk")
    >>> risk(1.0, 0.5)
    0.6931471805599453
    >>> risk.declaration
    'double individual_risk(double f, double p);'
    """
    return _once("scalar", function, make_scalar)


def c_array_function(function: str | np.ufunc) -> CFunction:
    """
    Return a ufunc's loop over arrays as a C function pointer.

    Its type is ``void (const double *f, const double *p, double *out, int64_t n)``: a
    pointer to n contiguous doubles for each argument and then for each result. A result
    may replace an argument; arrays must not overlap in any other way.

    Parameters
    ----------
    function : str or numpy.ufunc
        As for ``c_function``; it may have several results.

    Returns
    -------
    CFunction
        The same object at every call.

    Raises
    ------
    ValueError
        If no ufunc of that name is known.
    TypeError
        If the function is not a ufunc of riskcore.

    Examples
    --------
    >>> from ctypes import c_double
    >>> from riskcore.embed import c_array_function
    >>> risk = c_array_function("individual_risk")
    >>> three = c_double * 3
    >>> r = three()
    >>> risk(three(1, 2, 3), three(0.01, 0.01, 0.01), r, 3)
    >>> [round(x, 6) for x in r]
    [0.046517, 0.009631, 0.004953]
    """
    return _once("arrays", function, _make_arrays)


def c_integrand(function: str | np.ufunc) -> CFunction:
    """
    Return r as a function of p for SciPy's integrators, ``double (int, double *)``.

    The first of its two numbers is the ufunc's second argument (p or F), over which
    ``scipy.integrate.quad`` integrates; the second is f.

    Parameters
    ----------
    function : str or numpy.ufunc
        As for ``c_function``, with two arguments.

    Returns
    -------
    CFunction
        The same object at every call.

    Raises
    ------
    ValueError
        If no ufunc of that name is known.
    TypeError
        If the function is not a ufunc of riskcore, has several results or more than two
        arguments.

    Examples
    --------
    The mean risk of a sample unique whose sampling fraction lies anywhere between 0.01
    and 0.02:

    >>> from scipy import LowLevelCallable
    >>> from scipy.integrate import quad
    >>> from riskcore.embed import c_integrand
    >>> risk = LowLevelCallable(c_integrand("individual_risk"))
    >>> total, _ = quad(risk, 0.01, 0.02, args=(1.0,))
    >>> round(total / 0.01, 6)
    0.063698
    """
    return _once("integrand", function, make_integrand)


def _once(
    kind: str, function: str | np.ufunc, make: Callable[[np.ufunc], CFunction]
) -> CFunction:
    ufunc = _named(function) if isinstance(function, str) else function
    made_from(ufunc)  # refuses the ufuncs of others
    with _lock:
        if (kind, ufunc) not in _pointers:
            _pointers[kind, ufunc] = make(ufunc)
        pointer: CFunction = _pointers[kind, ufunc]
        return pointer


def _named(name: str) -> np.ufunc:
    if name not in NAMES:
        raise ValueError(
            f"no ufunc {name!r} in riskcore: use one of {', '.join(NAMES)}"
        )
    ufunc: np.ufunc = getattr(_HOMES[name], name)
    return ufunc


def make_scalar(ufunc: np.ufunc) -> CFunction:
    source, loop = made_from(ufunc)
    _refuse_several_results(ufunc)
    names = list(signature(source.scalar).parameters)
    code = code_in_c(loop.identity)
    kind = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * ufunc.nin)
    arguments = ", ".join(f"double {name}" for name in names)
    return _pointer(
        kind, code.address(whole=True), f"double {ufunc.__name__}({arguments});"
    )


def _make_arrays(ufunc: np.ufunc) -> CFunction:
    source, loop = made_from(ufunc)
    count = ufunc.nin + ufunc.nout
    names = [f"const double *{name}" for name in signature(source.scalar).parameters]
    results = [f"double *out{k + 1}" for k in range(ufunc.nout)]
    arguments = ", ".join([*names, *(results if results[1:] else ["double *out"])])
    kind = ctypes.CFUNCTYPE(None, *[_DOUBLES] * count, ctypes.c_int64)
    return _pointer(
        kind,
        loop_on_arrays(loop, count),
        f"void {ufunc.__name__}({arguments}, int64_t n);",
    )


def make_integrand(ufunc: np.ufunc) -> CFunction:
    source, loop = made_from(ufunc)
    _refuse_several_results(ufunc)
    if ufunc.nin != 2:
        raise TypeError(f"{ufunc.__name__} has {ufunc.nin} arguments, needs 2")
    code = code_of_integrand(loop.identity, source)
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, _DOUBLES)
    return _pointer(
        kind, code.address(whole=True), f"double {ufunc.__name__}(int n, double *x);"
    )


def code_of_integrand(identity: str, source: UfuncSource) -> Native:
    """Return the entry point that is a ufunc of two arguments as an integrand."""
    scalar = source.scalar

    def integrand(n: int, x: Any) -> float:
        risk: float = scalar(x[1], x[0])
        return risk

    name = f"{identity}.integrand"
    return Native(integrand, "int32, float64*", name, returns="float64")


def _refuse_several_results(ufunc: np.ufunc) -> None:
    if ufunc.nout > 1:
        raise TypeError(
            f"{ufunc.__name__} has {ufunc.nout} results: use c_array_function"
        )


def _pointer(kind: Callable[[int], Any], address: int, declaration: str) -> CFunction:
    pointer = kind(address)
    pointer.address = address
    pointer.declaration = declaration
    function: CFunction = pointer
    return function
