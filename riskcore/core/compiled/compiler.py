"""Compile kernels with Numba: the only module that relies on Numba's internals.

Numba makes machine code of every function by itself, with wrappers for Python and C.
Only kernels call kernels, so theirs are omitted: their optimized LLVM code is linked
into the entry points, which become one piece of machine code each. A shared kernel,
long and off the fast paths, is a piece of its own; its callers know its signature and
symbol. User code, which Numba itself compiles, finds the machine code of a ufunc at its
first call: to compile the kernel into it would take many seconds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import llvmlite.binding as llvm
import numba
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import cpu_target
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NativeLowering, NativeParforLowering
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, register_jitable
from numba.extending import overload as numba_overload

# IEEE arithmetic as written: no fused or reordered operations, 1/0 is inf. Inlining
# everything lets loops vectorise and the error path, which needs Numba, vanish.
OPTIONS: Any = {"error_model": "numpy", "fastmath": False, "forceinline": True}

# Functions that machine code may call: always present, and exact.
_C_LIBRARY = {"feclearexcept", "fma", "memcpy", "memmove", "memset"}


class Code(NamedTuple):
    """LLVM code, to make machine code of."""

    symbol: str  # the function to call
    assembly: str
    shared: tuple[str, ...]  # symbols of the shared kernels that it calls
    # Types of arguments and result if it is an entry point: called in any float mode.
    types: tuple[str, ...] = ()


# --- telling Numba -------------------------------------------------------------------


def add_primitive(
    function: Callable[..., Any], text: str, emit: Callable[..., Any]
) -> None:
    """Let compiled code replace a function by what ``emit`` builds."""
    arguments, result = normalize_signature(text)
    _add_typed(
        function,
        signature(result, *arguments),
        lambda context, builder, sig, args: emit(builder, *args),
    )


def _add_typed(
    function: Callable[..., Any], typed: Any, lower: Callable[..., Any]
) -> None:
    """Let compiled code call a function of known types."""
    members = {"key": function, "cases": [typed]}
    template = type(function.__name__, (ConcreteTemplate,), members)
    infer_global(function, numba.types.Function(template))
    lower_builtin(function, *typed.args)(lower)


_KERNEL_OPTIONS: Any = {
    **OPTIONS,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def add_kernel(function: Callable[..., Any]) -> None:
    """Let compiled code call a function."""
    register_jitable(**_KERNEL_OPTIONS, pipeline_class=_Kernel)(function)


class _Shared(NamedTuple):
    """A shared kernel with its types."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]  # Numba's types
    result: Any


_shared: dict[str, _Shared] = {}


def add_shared(
    function: Callable[..., Any], symbol: str, arguments: list[str], returns: list[str]
) -> None:
    """Let compiled code call a shared kernel by its symbol."""
    kinds = tuple(normalize_signature(f"({_numba_types(arguments)})")[0])
    return_types = [getattr(numba.types, type_name) for type_name in returns]
    result = (
        return_types[0] if len(return_types) == 1 else numba.types.Tuple(return_types)
    )
    _shared[symbol] = _Shared(function, kinds, result)

    def call(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        if not isinstance(context.active_code_library, _Library):
            context.active_code_library.add_linking_library(_for_users(symbol))
        convention = context.call_conv
        kind = convention.get_function_type(sig.return_type, sig.args)
        callee = cgutils.get_or_insert_function(builder.module, kind, symbol)
        # The status says whether an exception was raised: no kernel can.
        _, value = convention.call_function(
            builder, callee, sig.return_type, sig.args, values
        )
        return value

    _add_typed(function, signature(result, *kinds), call)


def add_call(name: Any, identity: str, inputs: int) -> None:
    """Let user code call ``name``: machine code that is found at the first call."""
    _add_overload(name, _call_of(identity, inputs), inputs)


def add_kernel_call(name: Any, scalar: Callable[..., Any]) -> None:
    """Let user code call ``name``, and compile a kernel into it."""
    _add_overload(name, scalar, len(inspect.signature(scalar).parameters))


def _add_overload(name: Any, scalar: Callable[..., Any], inputs: int) -> None:
    """Let user code call ``name`` as a function of up to four doubles.

    Numbers of any type become doubles first, as in NumPy: Numba's ``float`` would leave
    a float32 as it is, and the kernel would run in single precision.
    """
    from numba import float64, types

    def numbers(*kinds: Any) -> bool:
        real = (types.Integer, types.Float, types.Boolean)
        return all(isinstance(kind, real) for kind in kinds)

    # Numba wants equal signatures of the chooser and its choice: no annotations.
    choosers: Any = (
        lambda a: (lambda a: scalar(float64(a))) if numbers(a) else None,
        lambda a, b: (
            (lambda a, b: scalar(float64(a), float64(b))) if numbers(a, b) else None
        ),
        lambda a, b, c: (
            (lambda a, b, c: scalar(float64(a), float64(b), float64(c)))
            if numbers(a, b, c)
            else None
        ),
        lambda a, b, c, d: (
            (lambda a, b, c, d: scalar(float64(a), float64(b), float64(c), float64(d)))
            if numbers(a, b, c, d)
            else None
        ),
    )
    numba_overload(name, jit_options=OPTIONS)(choosers[inputs - 1])
    # While Numba types a function that asks a module for the name, it has read its
    # registries already.
    if "_toplevel_typing_context" in vars(cpu_target):
        cpu_target.typing_context.refresh()


def _call_of(identity: str, inputs: int) -> Callable[..., Any]:
    """Make the call of machine code that is looked up when first needed."""
    from llvmlite import ir

    double, byte = ir.DoubleType(), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(double, [double] * inputs)

    def emit(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        module, name = builder.module, f"riskcore.{identity}"
        slot = module.globals.get(name)
        if slot is None:
            slot = ir.GlobalVariable(module, kind.as_pointer(), name)
            slot.linkage = "internal"
            slot.initializer = ir.Constant(slot.value_type, None)
        with builder.if_then(
            cgutils.is_null(builder, builder.load(slot)), likely=False
        ):
            asked = context.insert_const_string(module, identity)
            address = builder.call(_finder(context, builder, byte), [asked])
            builder.store(builder.bitcast(address, slot.value_type), slot)
        return builder.call(builder.load(slot), arguments)

    result = signature(numba.float64, *[numba.float64] * inputs)
    typed: Any = (
        lambda context, a: (result, emit),
        lambda context, a, b: (result, emit),
        lambda context, a, b, c: (result, emit),
        lambda context, a, b, c, d: (result, emit),
    )
    return cast("Callable[..., Any]", intrinsic(typed[inputs - 1]))


def _finder(context: Any, builder: Any, byte: Any) -> Any:
    """Return the function by which user code finds machine code.

    Numba's cached code knows its symbol, if Numba registers this package in every
    process. Otherwise the package is not installed: an address serves, and Numba caches
    nothing.
    """
    from llvmlite import ir

    kind = ir.FunctionType(byte, [byte])
    if _offered[_FINDER].in_every_process:
        return cgutils.get_or_insert_function(builder.module, kind, _FINDER)
    address = context.add_dynamic_addr(builder, _offered[_FINDER].address, _FINDER)
    return builder.bitcast(address, kind.as_pointer())


class _Offered(NamedTuple):
    address: int
    in_every_process: bool


_FINDER = "riskcore_find_machine_code"
_offered: dict[str, _Offered] = {}


def offer(finder: int, *, in_every_process: bool) -> None:
    """Let user code find machine code by the C function at the address ``finder``.

    ``in_every_process``: whether Numba has this called before it runs any cached code.
    """
    _offered[_FINDER] = _Offered(finder, in_every_process)
    llvm.add_symbol(_FINDER, finder)


# --- compiling -----------------------------------------------------------------------


def optimize_for(machine: Any) -> None:
    """Let all later compilation optimize for another processor.

    Only its vectors and costs are used; sizes and alignments stay those of this
    machine, so both must have 64-bit pointers.
    """
    cpu_target.target_context.codegen()._tm = machine


def compiled(
    function: Callable[..., Any], symbol: str, arguments: list[str], returns: str
) -> Code:
    """Compile an entry point and all that it calls.

    ``symbol`` replaces Numba's name of it, which depends on what was compiled before. A
    star at the end of a type is a pointer. A kernel that allocates or raises is
    refused.
    """
    types = _numba_types(arguments)
    compiler = numba.cfunc(f"{returns}({types})", pipeline_class=_Entry, **OPTIONS)
    entry: Any = compiler(function)
    library: _Library = entry._library
    library._final_module.get_function(entry.native_name).name = symbol
    code = library.code(symbol, function.__name__)
    return code._replace(types=(*arguments, returns))


def shared_code(symbol: str) -> Code:
    """Compile a shared kernel, and all that it calls."""
    function, arguments, result = _shared[symbol]
    compiler = numba.njit(pipeline_class=_SharedKernel, **_KERNEL_OPTIONS)
    dispatcher: Any = compiler(function)
    dispatcher.compile(arguments)
    overload = dispatcher.overloads[arguments]
    returned = overload.signature.return_type
    if returned != result:
        raise TypeError(f"{symbol} returns {returned}, not {result}")
    library: _Library = overload.library
    library._ensure_finalized()
    library._final_module.get_function(library.entry).name = symbol
    return library.code(symbol, symbol)


def _numba_types(texts: list[str]) -> str:
    return ", ".join(map(_numba_type, texts))


def _numba_type(text: str) -> str:
    return f"CPointer({_numba_type(text[:-1])})" if text.endswith("*") else text


class _Library(JITCodeLibrary):
    """The code of a function and of the functions it calls, not yet machine code."""

    # Whether to optimize before linking into others. Kernels are: their branches have
    # then become selections, and loops that inline them can use vectors.
    optimize_first = True
    entry = ""  # Numba's name of the function

    def finalize(self) -> None:
        """Link and optimize; Numba would also make machine code."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            module = library._get_module_for_linking
            if isinstance(library, _Library):
                module = library._module_for_kernels
            self._final_module.link_in(module(), preserve=True)
        if self.optimize_first:
            self._optimize_final_module()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address: there are no wrappers."""
        self._ensure_finalized()
        return 0

    def _module_for_kernels(self) -> Any:
        """Return the module that a kernel links to call this one."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """Return the module that user code links: with shared kernels."""
        module = self._module_for_kernels().clone()
        added: set[str] = set()
        while needed := _called(module) - added:
            for symbol in needed:
                module.link_in(_for_users(symbol)._module_for_kernels(), preserve=True)
            added |= needed
        return module

    def code(self, symbol: str, name: str) -> Code:
        """Return the LLVM code; ``name`` is for the error."""
        module = self._final_module
        for function in module.functions:
            if not function.is_declaration:
                own = function.name == symbol
                function.linkage = "external" if own else "internal"
        for variable in module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):  # for errors; none is raised
                variable.linkage = "internal"
        self._optimize_final_module()
        module = self._final_module
        assembly = str(module)
        strange = {
            callee
            for callee in _declared(module) - _C_LIBRARY - set(_shared)
            if not callee.startswith("llvm.") and assembly.count(f"@{callee}(") > 1
        }
        if strange:
            raise RuntimeError(f"{name} calls {sorted(strange)}")
        return Code(symbol, assembly, tuple(sorted(_called(module))))


def _declared(module: Any) -> set[str]:
    return {function.name for function in module.functions if function.is_declaration}


def _called(module: Any) -> set[str]:
    """Return the symbols of the shared kernels that a module calls but lacks."""
    declared = _declared(module) & set(_shared)
    assembly = str(module) if declared else ""
    return {symbol for symbol in declared if assembly.count(f"@{symbol}(") > 1}


@cache
def _for_users(symbol: str) -> _Library:
    """Return the code of a shared kernel, for user code to link."""
    library = _Library(cpu_target.target_context.codegen(), symbol)
    library._final_module.link_in(llvm.parse_assembly(shared_code(symbol).assembly))
    library._finalized = True
    return library


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):
    """Numba's last step, without the function that Python could call."""

    _name = "riskcore_kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        described = lowered.fndesc
        state.library.entry = described.llvm_func_name
        # Callers find the code by an object that Numba would call.
        stand_in = _dynfunc.make_function(
            described.lookup_module(), "kernel", "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(stand_in, described, [state.library])
        state["cr"] = lowered._replace(cfunc=stand_in)
        return True


class _Compiler(CompilerBase):
    """Numba's pipeline, with another library and another last step."""

    lowering: Any = NativeLowering
    optimize_first = True

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        library = _Library(self.state.targetctx.codegen(), "riskcore")
        library.optimize_first = self.optimize_first
        self.state.library = library

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline: no Python objects, no parallel loops."""
        theirs = DefaultPassBuilder.define_nopython_pipeline(self.state)
        ours = PassManager("riskcore")
        for step, description in theirs.passes:
            own = step in (NativeLowering, NativeParforLowering)
            ours.add_pass(self.lowering if own else step, description)
        ours.finalize()
        return [ours]


class _Kernel(_Compiler):
    lowering = _KernelLowering


class _SharedKernel(_Kernel):
    optimize_first = False


class _Entry(_Compiler):
    optimize_first = False
