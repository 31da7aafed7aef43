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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from riskcore.core.compiled import shipped
from riskcore.core.compiled.jit import (
    Native,
    callable_by_users,
    compiled_by_users,
    kernel,
    offer_in_c,
    primitive,
)

if TYPE_CHECKING:
    from riskcore.core.compiled.compiler import Code

Scalar = Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Any])

LOOP = "float64**, int64*, int64*, int64*"
"""The signature of a ufunc's loop: arguments and results, sizes, steps, data."""

_FLOAT64 = np.dtype(np.float64).num
# Position of PyUFunc_FromFuncAndData in NumPy's ufunc C API, part of its stable ABI.
_FROM_FUNC_AND_DATA = 1
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


class UfuncSource(NamedTuple):
    """The loop and kernel of a ufunc of doubles, and its docstring."""

    loop: Callable[..., None]  # NumPy's inner loop: arguments, sizes, steps, data
    scalar: Callable[..., Any]  # one element: what @njit code calls under the name
    doc: str
    outputs: int = 1


def build(name: str, source: UfuncSource) -> np.ufunc:
    """Return the one ufunc ``name``; its loop is compiled, or loaded from the cache."""
    module = source.scalar.__module__
    identity = f"{module}.{name}"
    with _lock:
        if identity not in _built:
            entry = code_of_loop(identity, source)
            offer_in_c(identity, source.scalar)
            inputs = len(signature(source.scalar).parameters)
            numbers = (inputs, source.outputs)
            ufunc = from_loop(entry.address(), name, source.doc.strip(), numbers)
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
    from riskcore.core.compiled.on_arrays import on_arrays

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


def from_loop(address: int, name: str, doc: str, numbers: tuple[int, int]) -> np.ufunc:
    """Return the ufunc of a loop in machine code at an address."""
    functions = (ctypes.c_void_p * 1)(address)
    data = (ctypes.c_void_p * 1)(None)
    types = ctypes.create_string_buffer(bytes([_FLOAT64] * sum(numbers)))
    texts = [ctypes.create_string_buffer(text.encode()) for text in (name, doc)]
    # NumPy keeps these pointers for the life of the ufunc.
    _keep_alive.extend((functions, data, types, *texts))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api = ctypes.cast(
        pointer(np._core._multiarray_umath._UFUNC_API, None),  # type: ignore[attr-defined]
        ctypes.POINTER(ctypes.c_void_p),
    )
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *[ctypes.c_void_p] * 3,
        *[ctypes.c_int] * 4,
        *[ctypes.c_void_p] * 2,
        ctypes.c_int,
    )(api[_FROM_FUNC_AND_DATA])
    ufunc: np.ufunc = make(
        ctypes.addressof(functions),
        ctypes.addressof(data),
        ctypes.addressof(types),
        1,
        *numbers,
        -1,
        *map(ctypes.addressof, texts),
        0,
    )
    return ufunc
