"""LLVM code that runs a ufunc's loop on contiguous arrays, for callers in C."""

from __future__ import annotations

from llvmlite import ir


def on_arrays(name: str, loop: str | int, count: int) -> str:
    """Return the assembly of a ``void (double *, ..., int64_t n)``.

    The ``count`` pointers are the arguments and results of the ufunc; ``loop`` is the
    symbol or the address of its loop.
    """
    word, array = ir.IntType(64), ir.DoubleType().as_pointer()
    words = word.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [array.as_pointer(), words, words, words])
    module = ir.Module()
    entry = ir.Function(
        module, ir.FunctionType(ir.VoidType(), [array] * count + [word]), name
    )
    build = ir.IRBuilder(entry.append_basic_block())
    arrays, steps = build.alloca(array, count), build.alloca(word, count)
    size = build.alloca(word)
    for i, argument in enumerate(entry.args[:-1]):
        build.store(argument, build.gep(arrays, [word(i)]))
        build.store(word(8), build.gep(steps, [word(i)]))
    build.store(entry.args[-1], size)
    if isinstance(loop, str):
        code = ir.Function(module, kind, loop)
    else:
        code = build.inttoptr(word(loop), kind.as_pointer())
    build.call(code, [arrays, size, steps, words(None)])
    build.ret_void()
    return str(module)
