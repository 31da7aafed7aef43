"""NumPy ufuncs from compiled loops.

Numba's own ufuncs refuse ``where=`` and cannot be pickled by name. These are true
``numpy.ufunc`` objects, made through NumPy's C interface for extension modules.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from inspect import cleandoc, signature
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from riskcore.common.interrupts import uninterrupted
from riskcore.core.compiled import shipped, signals
from riskcore.core.compiled.jit import (
    Native,
    callable_by_users,
    compiled_by_users,
    kernel,
    offer_in_c,
    on_arrays,
    primitive,
)

if TYPE_CHECKING:
    from riskcore.core.compiled.compiler import Code

Scalar = Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Any])

LOOP = "float64**, int64*, int64*, int64*"
"""The signature of a ufunc's loop: arguments and results, sizes, steps, data."""

# Positions in NumPy's ufunc C API, part of its stable ABI: PyUFunc_FromFuncAndData,
# PyUFunc_On_Om, PyUFunc_AddPromoter.
_FROM_FUNC_AND_DATA, _CALL, _ADD_PROMOTER = 1, 24, 44
_KIND = b"numpy._ufunc_promoter"
_keep_alive: list[Any] = []
_built: dict[str, np.ufunc] = {}
_made_from: dict[np.ufunc, tuple[UfuncSource, Native]] = {}
_offered: dict[str, Callable[[], UfuncSource]] = {}
_lock = threading.RLock()


def _emit_clear_flags(builder: Any) -> Any:
    from llvmlite import ir
    from numba.core import cgutils

    integer = ir.IntType(32)
    clear = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(integer, [integer]), "feclearexcept"
    )
    builder.call(clear, [integer(0x3F)])  # every flag, on x86 and on arm
    return ir.Constant(ir.IntType(64), 0)


@primitive("int64()", _emit_clear_flags)
def clear_flags() -> int:
    """Clear the floating-point flags, from which NumPy would make warnings.

    A vectorized loop evaluates branches that it then discards, so its flags mean
    nothing: nan alone marks a value outside the domain.
    """
    return 0


def _emit_address(builder: Any, pointer: Any) -> Any:
    from llvmlite import ir

    return builder.ptrtoint(pointer, ir.IntType(64))


@primitive("int64(CPointer(float64))", _emit_address)
def address(pointer: Any) -> int:
    """Return where a pointer points; interpreted, a number that identifies a list."""
    return id(pointer)


class Contract(NamedTuple):
    """The accuracy of one function.

    Attributes
    ----------
    function : str
        Its public name, followed by a comma and its form if it has several.
    ulps : float
        Promised bound of the error, in units in the last place of the result.
    worst : float
        Largest error ever found, by samples and searches, rounded up to two decimals;
        bench/worst_points.csv has the points, and a test holds the two together.
    witness : tuple of str
        The arguments where it was found, as hexadecimal floats.
    region : str
        Where the promise holds.
    shown : {"measured", "proved"}
        How it is known.
    """

    function: str
    ulps: float
    worst: float
    witness: tuple[str, ...]
    region: str = "the whole domain, except results below 2^-960"
    shown: Literal["measured", "proved"] = "measured"


class UfuncSource(NamedTuple):
    """The loop and kernel of a ufunc of doubles, and its docstring."""

    loop: Callable[..., None]  # NumPy's inner loop: arguments, sizes, steps, data
    scalar: Callable[..., Any]  # one element: what @njit code calls under the name
    doc: str
    outputs: int = 1
    # (address of the loop, arguments) -> address of the loop of float32, its data
    single: Callable[[int, int], tuple[int, Any]] | None = None


def build(name: str, source: UfuncSource) -> np.ufunc:
    """Return the one ufunc ``name``; its loop is compiled, or loaded from the cache."""
    module = source.scalar.__module__
    identity = f"{module}.{name}"
    with _lock:
        if identity not in _built:
            entry = code_of_loop(identity, source)
            offer_in_c(identity, source.scalar)
            inputs = len(signature(source.scalar).parameters)
            numbers, address = (inputs, source.outputs), entry.address()
            single = source.single(address, inputs) if source.single else None
            ufunc = from_loop(address, name, source.doc.strip(), numbers, single)
            if hasattr(ufunc, "__dict__"):  # recent NumPy: pickle need not search
                ufunc.__module__ = module
            if source.outputs == 1:
                callable_by_users(ufunc, identity, inputs)
            else:
                compiled_by_users(ufunc, source.scalar)
            _made_from[ufunc] = (source, entry)
            _built[identity] = ufunc
        return _built[identity]


def code_of_loop(identity: str, source: UfuncSource) -> Native:
    """Return the entry point that is a ufunc's loop."""
    return Native(source.loop, LOOP, identity)


def code_on_arrays(identity: str) -> Code:
    """Return LLVM's code that runs a ufunc's loop on contiguous arrays."""
    from riskcore.core.compiled.compiler import Code

    source = offered()[identity]
    count = len(signature(source.scalar).parameters) + source.outputs
    symbol = shipped.symbol_of(f"{identity}.arrays")
    return Code(symbol, on_arrays(symbol, shipped.symbol_of(identity), count), ())


def made_from(ufunc: Any) -> tuple[UfuncSource, Native]:
    """Return the source of a ufunc made here, and its compiled loop."""
    if not isinstance(ufunc, np.ufunc) or ufunc not in _made_from:
        raise TypeError(f"not a ufunc of riskcore: {ufunc!r}")
    return _made_from[ufunc]


def elementwise(name: str, scalar: Callable[..., float]) -> np.ufunc:
    """Return the ufunc ``name`` that applies a kernel of one to four numbers."""
    return build(name, _each(scalar))


def _each(scalar: Callable[..., float]) -> UfuncSource:
    """Return the source of the ufunc of a kernel of one to four numbers."""

    def loop_of_one(args: Any, sizes: Any, steps: Any, _: Any) -> None:
        for i in range(sizes[0]):
            args[1][i * (steps[1] >> 3)] = scalar(args[0][i * (steps[0] >> 3)])
        clear_flags()

    def loop_of_two(args: Any, sizes: Any, steps: Any, _: Any) -> None:
        for i in range(sizes[0]):
            args[2][i * (steps[2] >> 3)] = scalar(
                args[0][i * (steps[0] >> 3)], args[1][i * (steps[1] >> 3)]
            )
        clear_flags()

    def loop_of_three(args: Any, sizes: Any, steps: Any, _: Any) -> None:
        for i in range(sizes[0]):
            args[3][i * (steps[3] >> 3)] = scalar(
                args[0][i * (steps[0] >> 3)],
                args[1][i * (steps[1] >> 3)],
                args[2][i * (steps[2] >> 3)],
            )
        clear_flags()

    def loop_of_four(args: Any, sizes: Any, steps: Any, _: Any) -> None:
        for i in range(sizes[0]):
            args[4][i * (steps[4] >> 3)] = scalar(
                args[0][i * (steps[0] >> 3)],
                args[1][i * (steps[1] >> 3)],
                args[2][i * (steps[2] >> 3)],
                args[3][i * (steps[3] >> 3)],
            )
        clear_flags()

    inputs = len(signature(scalar).parameters)
    loop = (loop_of_one, loop_of_two, loop_of_three, loop_of_four)[inputs - 1]
    return UfuncSource(loop, scalar, cleandoc(scalar.__doc__ or ""))


def on_demand(module: str, ufuncs: Mapping[str, UfuncSource | Scalar]) -> Scalar:
    """Return a module's ``__getattr__`` that makes its ufuncs when first asked for.

    The ufuncs, by name, have loops of their own or are kernels to apply to each
    element.
    """

    def look_up(name: str) -> np.ufunc:
        if name not in ufuncs:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        ufunc = build(name, _source(ufuncs[name]))
        vars(sys.modules[module])[name] = ufunc
        return ufunc

    for name, source in ufuncs.items():
        _offer(name, source)
    return look_up


def with_ufunc(scalar: Function) -> Function:
    """Mark a kernel from which `ufunc_of` makes a ufunc."""
    _offer(_own_name(scalar), scalar)
    return kernel(scalar)


@cache
def ufunc_of(scalar: Scalar) -> np.ufunc:
    """Return the ufunc of a kernel marked by `with_ufunc`."""
    name = _own_name(scalar)
    if f"{scalar.__module__}.{name}" not in _offered:
        raise TypeError(f"{scalar.__name__} is not marked as a kernel with a ufunc")
    return elementwise(name, scalar)


def _own_name(scalar: Scalar) -> str:
    return scalar.__name__.lstrip("_")


def _offer(name: str, source: UfuncSource | Scalar) -> None:
    """Let `offered` list a ufunc, and `code_in_c` find its kernel."""
    scalar = source.scalar if isinstance(source, UfuncSource) else source
    identity = f"{scalar.__module__}.{name}"
    _offered[identity] = lambda: _source(source)
    offer_in_c(identity, scalar)


def offered() -> dict[str, UfuncSource]:
    """Return the sources of the ufuncs of all loaded modules, by identity."""
    return {identity: source() for identity, source in _offered.items()}


def _source(source: UfuncSource | Scalar) -> UfuncSource:
    return source if isinstance(source, UfuncSource) else _each(source)


def from_loop(
    address: int,
    name: str,
    doc: str,
    numbers: tuple[int, int],
    single: tuple[int, Any] | None = None,
) -> np.ufunc:
    """Return the ufunc of a loop in machine code at an address.

    ``single`` is the address of its loop of float32, and the data that it needs.
    """

    def refuse(*values: Any) -> None:
        others = (type(each) for each in values if not isinstance(each, float | int))
        kinds = [kind.__name__ for kind in others]
        raise TypeError(
            f"{name} takes doubles and float32, not {', '.join(kinds) or 'objects'}: "
            "results are never more exact than doubles, so convert the arguments, "
            "arrays by .astype(float) and single numbers by float()"
        )

    inner: list[Any] = [("f", *single)] if single else []
    inner += [("d", address, None)]
    loops = [
        (code, *signals.heard(loop, data, sum(numbers))) for code, loop, data in inner
    ]
    loops += [("O", _api()[_CALL], _Call(*numbers, refuse))]
    codes, addresses, data = zip(*loops, strict=True)
    places = [ctypes.addressof(each) if each else None for each in data]
    arrays = [(ctypes.c_void_p * len(loops))(*each) for each in (addresses, places)]
    types = bytes(np.dtype(code).num for code in codes for _ in range(sum(numbers)))
    texts = [*map(ctypes.create_string_buffer, (types, name.encode(), doc.encode()))]
    # NumPy keeps these pointers for the life of the ufunc.
    kept: list[Any] = [*arrays, *texts]
    _keep_alive.extend((inner, data, *kept))
    pointers = [ctypes.addressof(each) for each in kept]
    word, number, thing = ctypes.c_void_p, ctypes.c_int, ctypes.py_object
    kinds = [*[word] * 3, *[number] * 4, *[word] * 2, number]
    make = ctypes.PYFUNCTYPE(thing, *kinds)(_api()[_FROM_FUNC_AND_DATA])
    ufunc: np.ufunc = make(*pointers[:3], len(loops), *numbers, -1, *pointers[3:], 0)
    capsule = ctypes.PYFUNCTYPE(thing, word, ctypes.c_char_p, word)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    promoter = capsule(ctypes.cast(_PROMOTER, word), _KIND, None)
    add = ctypes.PYFUNCTYPE(number, thing, thing, thing)(_api()[_ADD_PROMOTER])
    add(ufunc, (np.dtype,) * sum(numbers), promoter)
    return ufunc


class _Call(ctypes.Structure):
    """What NumPy's loop over objects needs, to call a function of Python."""

    _fields_ = (
        ("inputs", ctypes.c_int),
        ("outputs", ctypes.c_int),
        ("function", ctypes.py_object),
    )


@cache
def _api() -> Any:
    """Return the table of NumPy's C functions for ufuncs."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(
        pointer(np._core._multiarray_umath._UFUNC_API, None),  # type: ignore[attr-defined]
        ctypes.POINTER(ctypes.c_void_p),
    )


def type_of_loop(kinds: list[type], codes: str) -> str:
    """Return the code of the loop, among ``codes``, for arguments of some types.

    NumPy's promotion, but that integers make doubles; Python's numbers have no width.
    """
    weak: dict[type, Any] = {int: 0, float: 0.0}
    try:
        common = np.result_type(*[weak.get(kind, kind) for kind in kinds])
    except TypeError:
        return "O"
    if common.char in "ef" and "f" in codes:
        return "f"
    return "d" if common.kind in "biu" or common.char in "efd" else "O"


def _promote(ufunc: np.ufunc, arguments: Any, asked: Any, chosen: Any) -> int:
    """Choose a loop for NumPy, which remembers it; the others are arrays of classes."""
    with uninterrupted(in_callback=True):
        count = ufunc.nin + ufunc.nout
        codes = "".join(types[0] for types in ufunc.types)
        kinds = [_class(each).type for each in arguments[: ufunc.nin] if each]
        wanted = [np.dtype(_class(each).type).char for each in asked[:count] if each]
        code = wanted[-1] if wanted else type_of_loop(kinds, codes)
        kind = type(np.dtype(code))
        for i in range(count):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kind))
            chosen[i] = id(kind)
    return 0


def _class(address: int) -> Any:
    return ctypes.cast(address, ctypes.py_object).value


_CLASSES = ctypes.POINTER(ctypes.c_void_p)
_PROMOTER = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, *[_CLASSES] * 3)(_promote)
