"""The floating-point mode that compiled code needs, set around each entry point.

Kernels need rounding to nearest, subnormal numbers and no traps. Libraries built with
``-ffast-math`` make a thread flush subnormal numbers to zero, and interval arithmetic
changes the rounding direction. So each entry point reads the control register: it calls
its body at once in the default mode, else sets the mode, calls the body and restores
the register. The body is a separate function: LLVM may move arithmetic past
instructions that change the mode, but not out of a function that it does not inline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

_WORD, _LONG, _BYTES = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
_TYPES: dict[str, ir.Type] = {
    "void": ir.VoidType(),
    "int32": _WORD,
    "int64": _LONG,
    "uint64": _LONG,
    "float64": ir.DoubleType(),
}

# MXCSR of x86-64: bits that change results (subnormal arguments as zero, masks of the
# traps, rounding, subnormal results as zero), their default, and the exception flags.
_X86_MODE, _X86_DEFAULT, _X86_FLAGS, _X86_WARNINGS = 0xFFC0, 0x1F80, 0x3F, 0x1D
_CLEAR = "feclearexcept"  # what loops call at their end


class _X86:
    """MXCSR, which is read and written through memory."""

    def __init__(self, build: ir.IRBuilder) -> None:
        self.build = build
        self.place = build.alloca(_WORD)
        self.old = self._read()
        self.mode = build.and_(self.old, _WORD(_X86_MODE))

    def is_default(self) -> Any:
        return self.build.icmp_unsigned("==", self.mode, _WORD(_X86_DEFAULT))

    def set_default(self) -> None:
        others = self.build.and_(self.old, _WORD(0xFFFFFFFF ^ _X86_MODE))
        self._write(self.build.or_(others, _WORD(_X86_DEFAULT)))

    def restore(self) -> None:
        """Restore the mode; keep the exception flags as the body left them."""
        flags = self.build.and_(self._read(), _WORD(_X86_FLAGS))
        others = self.build.and_(self.old, _WORD(0xFFFFFFFF ^ _X86_FLAGS))
        self._write(self.build.or_(others, flags))

    def clear_flags(self) -> None:
        """Clear the flags if NumPy would warn: of inexact results it does not."""
        seen = self.build.and_(self.old, _WORD(_X86_WARNINGS))
        with self.build.if_then(self.build.icmp_unsigned("!=", seen, _WORD(0))):
            self._write(self.build.and_(self.old, _WORD(0xFFFFFFFF ^ _X86_FLAGS)))

    def _read(self) -> Any:
        self._call("stmxcsr")
        return self.build.load(self.place)

    def _write(self, value: Any) -> None:
        self.build.store(value, self.place)
        self._call("ldmxcsr")

    def _call(self, instruction: str) -> None:
        kind = ir.FunctionType(ir.VoidType(), [_BYTES])
        function = _declared(self.build, f"llvm.x86.sse.{instruction}", kind)
        self.build.call(function, [self.build.bitcast(self.place, _BYTES)])


class _Arm64:
    """FPCR, whose default is 0; the exception flags are in another register."""

    def __init__(self, build: ir.IRBuilder) -> None:
        self.build = build
        read = ir.FunctionType(_LONG, [])
        self.old = build.call(_declared(build, "llvm.aarch64.get.fpcr", read), [])

    def is_default(self) -> Any:
        return self.build.icmp_unsigned("==", self.old, _LONG(0))

    def set_default(self) -> None:
        self._write(_LONG(0))

    def restore(self) -> None:
        self._write(self.old)

    def _write(self, value: Any) -> None:
        kind = ir.FunctionType(ir.VoidType(), [_LONG])
        write = _declared(self.build, "llvm.aarch64.set.fpcr", kind)
        self.build.call(write, [value])


_REGISTERS: dict[str, Callable[[ir.IRBuilder], Any]] = {
    "x86_64": _X86,
    "aarch64": _Arm64,
    "arm64": _Arm64,
}


def _declared(build: ir.IRBuilder, name: str, kind: ir.FunctionType) -> ir.Function:
    function = build.module.globals.get(name)
    return ir.Function(build.module, kind, name) if function is None else function


def guard(module: Any, symbol: str, types: tuple[str, ...]) -> None:
    """Let a function of a module run in the mode it needs, whoever calls it.

    ``types`` are those of its arguments and, last, of its result. A module for a
    processor that is not known here stays as it is.
    """
    register = _REGISTERS.get(module.triple.partition("-")[0])
    if register is None:
        return
    name = f"{symbol}_in_mode"
    module.get_function(symbol).name = name
    guarded = _guard(module, symbol, name, types, register)
    if register is _X86 and any(each.name == _CLEAR for each in module.functions):
        # The C library also clears the flags of the x87, in 100 nanoseconds and more.
        clear = ir.Function(guarded, ir.FunctionType(_WORD, [_WORD]), _CLEAR)
        build = ir.IRBuilder(clear.append_basic_block())
        _X86(build).clear_flags()
        build.ret(_WORD(0))
    module.link_in(llvm.parse_assembly(str(guarded)))
    for function in module.functions:
        if function.name in (name, _CLEAR) and not function.is_declaration:
            function.linkage = "internal"
            function.add_function_attribute("noinline")


def _guard(
    module: Any,
    symbol: str,
    name: str,
    types: tuple[str, ...],
    register: Callable[[ir.IRBuilder], Any],
) -> ir.Module:
    *arguments, result = [
        _BYTES if type_name.endswith("*") else _TYPES[type_name] for type_name in types
    ]
    kind = ir.FunctionType(result, arguments)
    guarded = ir.Module()
    guarded.triple, guarded.data_layout = module.triple, module.data_layout
    body = ir.Function(guarded, kind, name)
    entry = ir.Function(guarded, kind, symbol)
    build = ir.IRBuilder(entry.append_basic_block())
    control = register(build)
    usual, other = entry.append_basic_block(), entry.append_basic_block()
    build.cbranch(control.is_default(), usual, other).set_weights([1000, 1])

    def call_and_return(restore: Callable[[], None]) -> None:
        value = build.call(body, entry.args)
        restore()
        build.ret_void() if result == ir.VoidType() else build.ret(value)

    build.position_at_end(usual)
    call_and_return(lambda: None)
    build.position_at_end(other)
    control.set_default()
    call_and_return(control.restore)
    return guarded
