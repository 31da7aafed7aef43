"""Loops of ufuncs that hear Ctrl-C within about a second.

NumPy may hand a loop a whole array, and never asks for signals meanwhile. So each loop
runs in stretches. Once the clock shows another second, the main thread, which alone
handles signals, has Python do so before the next stretch. If a handler raises, the loop
ends. NumPy sees the exception when it has finished: until then it may call the loop for
other parts of the arrays, and the loop returns at once.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from functools import cache
from typing import Any

from riskcore.core.compiled.jit import Native, kernel, primitive

STRETCH = 4096  # cells
# What a plan holds: addresses of the loop and of its data, how many arrays it has, C
# functions, the main thread, and when signals were handled.
_LOOP, _DATA, _ARRAYS, _TIME, _THREAD, _TAKE, _GIVE, _HANDLE, _RAISED = range(9)
_MAIN, _LAST = 9, 10
_WORD = (1 << 32) - 1  # the bits of C's integers, of the time and of a thread
_NEVER, _STOPPED = 1 << 32, 1 << 33  # no time


def _emit_words(builder: Any) -> Any:
    from llvmlite import ir
    from numba.core import cgutils

    return cgutils.alloca_once(builder, ir.IntType(64), size=8)


@primitive("CPointer(int64)()", _emit_words)
def words() -> Any:
    """Return room for eight integers that lives as long as the caller."""
    return [0] * 8


def _emit_call(builder: Any, function: Any, argument: Any) -> Any:
    from llvmlite import ir

    word = ir.IntType(64)
    kind = ir.FunctionType(word, [word])
    return builder.call(builder.inttoptr(function, kind.as_pointer()), [argument])


@primitive("int64(int64, int64)", _emit_call)
def _call(function: int, argument: int) -> int:
    """Call the C function at an address, which may ignore its argument."""
    raise NotImplementedError("only machine code is at an address")


def _emit_run(builder: Any, loop: Any, *arguments: Any) -> Any:
    from llvmlite import ir

    word = ir.IntType(64)
    words = word.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [words, words, words, word])
    builder.call(builder.inttoptr(loop, kind.as_pointer()), arguments)
    return word(0)


_POINTERS = ", ".join(["CPointer(int64)"] * 3)


@primitive(f"int64(int64, {_POINTERS}, int64)", _emit_run)
def run(loop: int, args: Any, sizes: Any, steps: Any, data: int) -> int:
    """Run NumPy's loop at an address."""
    raise NotImplementedError("only machine code is at an address")


@kernel
def _ends(plan: Any) -> bool:
    """Let Python handle signals once a second; return whether a handler raised."""
    now, last = _call(plan[_TIME], 0) & _WORD, plan[_LAST]
    if (now == last) or (_call(plan[_THREAD], 0) & _WORD != plan[_MAIN]):
        return False
    lock = _call(plan[_TAKE], 0)
    if last == _STOPPED:
        raised = _call(plan[_RAISED], 0) != 0
    else:
        raised = _call(plan[_HANDLE], 0) & _WORD != 0
    _call(plan[_GIVE], lock)
    plan[_LAST] = _STOPPED if raised else now
    return raised


def loop_in_stretches(args: Any, sizes: Any, steps: Any, plan: Any) -> None:
    """Run a loop as NumPy's loop, with a plan as its data."""
    places, size, first = words(), words(), 0
    while first < sizes[0] and not _ends(plan):
        size[0] = min(STRETCH, sizes[0] - first)
        for k in range(plan[_ARRAYS]):
            places[k] = args[k] + first * steps[k]
        run(plan[_LOOP], places, size, steps, plan[_DATA])
        first += size[0]


@cache
def code() -> Native:
    """Return the entry point that NumPy calls for every ufunc."""
    return Native(loop_in_stretches, "int64*, int64*, int64*, int64*")


def heard(loop: int, data: Any, arrays: int) -> tuple[int, Any]:
    """Return the address of a loop that hears signals, and its data."""
    c = ctypes.pythonapi
    time = ctypes.cdll.msvcrt._time64 if sys.platform == "win32" else c.time
    functions = (
        time, c.PyThread_get_thread_ident, c.PyGILState_Ensure, c.PyGILState_Release,
        c.PyErr_CheckSignals, c.PyErr_Occurred,
    )  # fmt: skip
    plan = (ctypes.c_int64 * (_LAST + 1))(
        loop,
        ctypes.addressof(data) if data else 0,
        arrays,
        *[ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions],
        (threading.main_thread().ident or 0) & _WORD,
        _NEVER,
    )
    return code().address(), plan
