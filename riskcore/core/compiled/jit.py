"""Mark, compile and load kernels: the only module that knows LLVM's machine code.

Kernels are plain Python functions over floats, integers and pointers. ``kernel`` marks
one as callable from other kernels, ``primitive`` a function that the compiler replaces
by an instruction or two, ``native`` an entry point that Python calls with arrays.

Machine code of an entry point may come with the package (``shipped``); then neither
Numba nor LLVM is needed. Otherwise Numba compiles it on its first use ever, the user's
cache keeps it, and LLVM alone loads it later. Both are named by a hash of the source
files that an entry point is compiled from (its module and its imports from this
package, recursively) and by the processor, the cache also by the versions of the
compilers: an edited or updated package never meets an old number. (Numba's own cache of
a user's function that calls a kernel knows nothing of this.)
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import logging
import math
import os
import re
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from riskcore.common.interrupts import uninterrupted
from riskcore.core.compiled import code_cache, shipped

if TYPE_CHECKING:
    from riskcore.core.compiled.compiler import Code

Function = TypeVar("Function", bound=Callable[..., Any])

_kernels: list[Callable[..., Any]] = []
SHARED: dict[str, Shared] = {}
_new_shared: list[str] = []
_primitives: list[tuple[Callable[..., Any], str, Callable[..., Any]]] = []
_marked: set[Callable[..., Any]] = set()  # all primitives, also those registered
_calls: list[tuple[str, tuple[Any, ...]]] = []
# Two locks: Numba registers with its own compiler lock held, and compiling, which takes
# that one, happens under the first.
_lock = threading.RLock()
_registering = threading.RLock()
_log = logging.getLogger("riskcore")


def kernel(function: Function) -> Function:
    """Mark a plain function as callable from compiled code."""
    if not _rounds_to_nearest():
        _misread.add(function.__module__)
    _kernels.append(function)
    return function


def _rounds_to_nearest() -> bool:
    """Return whether this thread rounds to nearest, as Python's own numbers need."""
    unit, half = 1.0, sys.float_info.epsilon / 2.0
    return unit + half == unit and unit + 1.5 * half > unit


_misread: set[str] = set()  # modules whose constants may have been read inexactly
# Where subnormal numbers are flushed, Python reads this as 0, also into bytecode files.
_SMALLEST = struct.pack("<d", 5e-324)


def _refuse_misread(identity: str) -> None:
    """Refuse to compile from constants that Python may have read inexactly."""
    if _misread or not _rounds_to_nearest() or struct.pack("<q", 1) != _SMALLEST:
        raise RuntimeError(
            f"{identity} is not compiled yet, and this thread has, or had when "
            "riskcore was imported or Python compiled its sources, another "
            "floating-point mode than the default: the machine code would be wrong, "
            "and kept for later processes. Import riskcore and call the function once "
            "with fesetround(FE_TONEAREST) and subnormal numbers; after that it can be "
            "called in any mode. If that does not help, delete riskcore's __pycache__."
        )


def shared(signature: str, returns: str = "void") -> Callable[[Function], Function]:
    """Mark a kernel that is compiled once for all entry points, and not inlined.

    For long code off the fast paths: it is compiled when first called. Types are as for
    ``native``; several results, a tuple, are separated by commas.
    """

    def mark(function: Function) -> Function:
        symbol = shipped.symbol_of(f"{function.__module__}.{function.__name__}")
        SHARED[symbol] = Shared(function, symbol, _split(signature), _split(returns))
        _new_shared.append(symbol)
        return function

    return mark


def _split(types: str) -> list[str]:
    return [part.strip() for part in types.split(",")]


def primitive(
    signature: str, emit: Callable[..., Any]
) -> Callable[[Function], Function]:
    """Mark a function that compiled code replaces by one LLVM operation.

    ``emit`` gets the LLVM instruction builder and the argument values, and returns the
    result value; ``signature`` is Numba's, as in ``"float64(float64, float64)"``.
    """

    def mark(function: Function) -> Function:
        _primitives.append((function, signature, emit))
        _marked.add(function)
        return function

    return mark


def is_primitive(function: Any) -> bool:
    """Return whether compiled code replaces a function by an operation."""
    return function in _marked


def native(signature: str) -> Callable[[Callable[..., Any]], Native]:
    """Make a compiled entry point of a kernel that returns nothing.

    Types are as in ``"float64*, int64"``; a star is a pointer, for which Python passes
    a C-contiguous array of that type.
    """
    return lambda function: Native(function, signature)


def callable_by_users(name: Any, identity: str, inputs: int) -> None:
    """Let ``@njit`` code of users call ``name``: the machine code of an identity."""
    _callable("add_call", name, identity, inputs)


def compiled_by_users(name: Any, scalar: Callable[..., Any]) -> None:
    """Let ``@njit`` code of users call ``name``, and compile ``scalar`` into it.

    For kernels whose result is not a double: it takes seconds.
    """
    _callable("add_kernel_call", name, scalar)


def shared_kernel(symbol: str) -> Shared:
    """Return the shared kernel of a symbol."""
    return SHARED[symbol]


def _callable(how: str, *what: Any) -> None:
    with _registering:
        _calls.append((how, what))
        if sys.modules.get("numba"):  # not None, as where it is forbidden
            _register()


def register_with_numba() -> None:
    """Register what users may call, before Numba compiles anything in a process.

    Numba calls this itself, by the entry point ``numba_extensions``.
    """
    _register(in_every_process=True)


def _register(in_every_process: bool = False) -> None:
    """Register with Numba every kernel, primitive and ufunc marked so far."""
    from riskcore.core.compiled import compiler

    with _registering:
        if in_every_process or not _finders:
            _finders.append(_FINDER(_find))  # what C calls must not go away
            address = ctypes.cast(_finders[-1], ctypes.c_void_p).value
            assert address is not None
            compiler.offer(address, in_every_process=in_every_process)
        while _primitives:
            compiler.add_primitive(*_primitives.pop())
        while _kernels:
            compiler.add_kernel(_kernels.pop())
        while _new_shared:
            its = SHARED[_new_shared.pop()]
            compiler.add_shared(its.function, its.symbol, its.arguments, its.returns)
        while _calls:
            how, what = _calls.pop()
            getattr(compiler, how)(*what)


_FINDER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
_finders: list[Any] = []
_NUMBERS = 4  # arguments of a ufunc, at most
_not_found = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * _NUMBERS)(
    lambda *_: math.nan
)


def _find(identity: bytes) -> int | None:
    """Return the machine code of a ufunc's C function, for user code.

    Nothing can be raised there: an error is printed, and the result is nan.
    """
    try:
        return code_in_c(identity.decode()).address()
    except BaseException:
        traceback.print_exc()
        return ctypes.cast(_not_found, ctypes.c_void_p).value


class Native:
    """A compiled function of arrays and numbers; it runs without the GIL.

    The kernel must neither allocate nor raise. ``identity`` is its name in the cache,
    by default its full name.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: str,
        identity: str | None = None,
        returns: str = "void",
    ) -> None:
        self.function = function
        self.signature = signature
        self.returns = returns
        self.identity = identity or f"{function.__module__}.{function.__name__}"
        if not _can_compile() and not shipped.has(self.identity):
            raise _no_code("for this platform")
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.modules = frozenset(modules_of(function))
        self._types = _split(signature)
        self._address: int | None = None
        self._shared: list[str] = []
        self._call: Callable[..., Any] | None = None

    def address(self, *, whole: bool = False) -> int:
        """Return the address of the compiled code, compiling it if need be.

        ``whole``: with the shared kernels that it calls. Otherwise a shared kernel that
        was never compiled is compiled at its first call, which takes Python.
        """
        with _lock:  # once: LLVM must not load again what another thread is running
            if self._address is None:
                self._address = _shipped(self.identity, self.modules)
            if self._address is None:
                content = _content(self.identity, self.modules, self.code)
                self._address, self._shared = _loaded(content), _symbols(content)[1:]
            if whole:
                for symbol in self._shared:
                    SHARED[symbol].provide(whole=True)
            return self._address

    def code(self) -> Code:
        """Compile with Numba, which is imported here."""
        _register()
        from riskcore.core.compiled import compiler

        symbol = shipped.symbol_of(self.identity)
        return compiler.compiled(self.function, symbol, self._types, self.returns)

    def __call__(self, *args: Any) -> Any:
        """Run the compiled code on arrays (by pointer) and numbers."""
        if self._call is None:
            kinds = [
                ctypes.c_void_p if kind.endswith("*") else _C_TYPES[kind]
                for kind in self._types
            ]
            result = _C_TYPES[self.returns]
            self._call = ctypes.CFUNCTYPE(result, *kinds)(self.address())
        pairs = zip(self._types, args, strict=True)
        return self._call(*[_argument(kind, value) for kind, value in pairs])


def modules_of(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the modules of a function and of the functions it encloses."""
    yield function.__module__
    for cell in function.__closure__ or ():
        if inspect.isfunction(cell.cell_contents):
            yield from modules_of(cell.cell_contents)


_scalars: dict[str, Callable[..., float]] = {}
_in_c: dict[str, Native] = {}


def offer_in_c(identity: str, scalar: Callable[..., float]) -> None:
    """Let `code_in_c` find a kernel of doubles by its module and name."""
    _scalars[identity] = scalar


def code_in_c(identity: str) -> Native:
    """Return the C function of a ufunc: doubles as arguments, one double as result.

    ``identity`` is its module, which is imported if need be, a dot and its name.
    """
    import_module(identity.rpartition(".")[0])
    with _lock:
        if identity not in _in_c:
            scalar = _scalars[identity]
            doubles = ", ".join(["float64"] * len(inspect.signature(scalar).parameters))
            name = f"{identity}.scalar"
            _in_c[identity] = Native(scalar, doubles, name, returns="float64")
        return _in_c[identity]


_C_TYPES: dict[str, Any] = {
    "void": None,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float64": ctypes.c_double,
}


@cache
def _dtype(pointer: str) -> Any:
    """Return NumPy's type of a pointer's target, cached: parsing its name is slow."""
    import numpy as np

    return np.dtype(pointer[:-1])


def _argument(kind: str, value: Any) -> Any:
    if not kind.endswith("*"):
        return value
    if value.dtype != _dtype(kind) or not value.flags.c_contiguous:
        raise TypeError(f"need a contiguous {kind[:-1]} array, got {value.dtype}")
    return value.ctypes.data


@cache
def _can_compile() -> bool:
    """Return whether machine code can be compiled and loaded here."""
    return all(find_spec(package) is not None for package in ("llvmlite", "numba"))


def _no_code(where: str) -> ImportError:
    """Return the error of an installation without a compiler."""
    return ImportError(
        f"riskcore has no machine code {where}: pip install 'riskcore[jit]'"
    )


@cache
def _machine() -> tuple[Any, Any, str]:
    """Return LLVM's target machine, execution engine and the processor's name.

    Tests set ``RISKCORE_CPU`` to check that other processors give the same bits. Then
    the features are those of the name, and not listed here.
    """
    if not _can_compile():
        raise _no_code("for sources that were edited")
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    chosen = os.environ.get("RISKCORE_CPU")
    processor = chosen or llvm.get_host_cpu_name()
    host_features = {} if chosen else dict(llvm.get_host_cpu_features())
    signs = {True: "+", False: "-"}
    features = ",".join(
        f"{signs[host_features[feature]]}{feature}" for feature in sorted(host_features)
    )
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=processor, features=features, opt=3, jit=True
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    return machine, engine, f"{processor} {features}"


def machine_for(processor: str, triple: str) -> Any:
    """Return the target machine for a library; Numba optimizes for it from now on.

    ``triple`` is LLVM's name of a platform.
    """
    import llvmlite.binding as llvm

    from riskcore.core.compiled import compiler

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor, opt=3, reloc="pic", codemodel="small"
    )
    compiler.optimize_for(machine)
    return machine


def loop_on_arrays(loop: Native, count: int) -> int:
    """Return the address of C code that runs a ufunc's loop on contiguous arrays.

    The code is a ``void (double *, ..., int64_t n)`` with ``count`` pointers, the
    arguments and results.
    """
    address = _shipped(f"{loop.identity}.arrays", loop.modules)
    if address is not None:
        return address
    address = loop.address(whole=True)
    name = f"on_{address:x}"
    with _lock:
        engine = _machine()[1]
        import llvmlite.binding as llvm

        engine.add_module(llvm.parse_assembly(on_arrays(name, address, count)))
        engine.finalize_object()
        wrapper_address: int = engine.get_function_address(name)
    return wrapper_address


def on_arrays(name: str, loop: str | int, count: int) -> str:
    """Return the code of `loop_on_arrays`; ``loop`` is a symbol or an address."""
    from llvmlite import ir

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


def _content(
    identity: str, modules: frozenset[str], compiled: Callable[[], Code]
) -> bytes:
    """Return machine code from the cache, or newly compiled."""
    content = _kept(identity, modules)
    if content is None:
        with code_cache.locked(_build(modules), f"{identity}.o"):
            content = _kept(identity, modules)  # by the process that was waited for
            if content is None:
                _refuse_misread(identity)
                _log.info("compiling %s, once for this installation", identity)
                with uninterrupted():
                    content = machine_code(compiled(), _machine()[0])
                    code_cache.write(_build(modules), f"{identity}.o", content)
    return content


def _kept(identity: str, modules: frozenset[str]) -> bytes | None:
    """Return the machine code of an entry point or a shared kernel, or None."""
    content = code_cache.read(_build(modules), f"{identity}.o")
    usable = content and all(symbol in SHARED for symbol in _symbols(content)[1:])
    return content if usable else None


def _shipped(identity: str, modules: frozenset[str]) -> int | None:
    """Return the address of shipped machine code if it fits its source, or None."""
    return shipped.address(identity, lambda: sources_digest(modules))


def machine_code(code: Code, machine: Any) -> bytes:
    """Return machine code in our format, for one of LLVM's target machines.

    A line with the symbols of the function and of the shared kernels that it calls,
    then an object file.
    """
    symbols = " ".join([code.symbol, *code.shared])
    content = bytes(machine.emit_object(module_for(code, machine)))
    return symbols.encode() + b"\n" + content


def module_for(code: Code, machine: Any) -> Any:
    """Return LLVM's module of some code, for one of its target machines."""
    import llvmlite.binding as llvm

    from riskcore.core.compiled.float_mode import guard

    module = llvm.parse_assembly(code.assembly)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    if code.types:
        guard(module, code.symbol, code.types)
    return module


def _symbols(content: bytes) -> list[str]:
    return content.partition(b"\n")[0].decode().split()


def _loaded(content: bytes) -> int:
    """Load machine code and what it calls; return the address of its function."""
    import llvmlite.binding as llvm

    symbol, *needed = _symbols(content)
    for dependency in needed:
        SHARED[dependency].prepare()
    engine = _machine()[1]
    code = content.partition(b"\n")[2]
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address: int = engine.get_function_address(symbol)
    return address


# --- shared kernels ------------------------------------------------------------------


class Shared:
    """A shared kernel: machine code that other machine code calls by a symbol."""

    def __init__(
        self,
        function: Callable[..., Any],
        symbol: str,
        arguments: list[str],
        returns: list[str],
    ) -> None:
        self.function, self.symbol = function, symbol
        self.arguments, self.returns = arguments, returns  # types
        self._address: int | None = None
        self._needed: list[str] = []
        # The address of the machine code for a stand-in, which asks if it is 0.
        self._place: ctypes.c_uint64 | None = None

    @property
    def modules(self) -> frozenset[str]:
        """The modules that its machine code is compiled from."""
        return frozenset(modules_of(self.function))

    def code(self) -> Code:
        """Compile with Numba, which is imported here."""
        _register()
        from riskcore.core.compiled import compiler

        return compiler.shared_code(self.symbol)

    def prepare(self) -> None:
        """Define its symbol: load the machine code if there is any, else a stand-in."""
        if self._address is not None or self._place is not None:
            return
        content = _kept(self.symbol, self.modules)
        if content is None:
            _refuse_misread(self.symbol)  # a stand-in could only end the process
            self._stand_in()
        else:
            self._load(content)

    def provide(self, *, whole: bool = False) -> int:
        """Return its address, compiling it if need be; ``whole`` as in `Native`."""
        with _lock:
            if self._address is None:
                self._load(_content(self.symbol, self.modules, self.code))
            assert self._address is not None
            for dependency in self._needed if whole else ():
                SHARED[dependency].provide(whole=True)
            return self._address

    def _load(self, content: bytes) -> None:
        self._address = _loaded(content)
        self._needed = _symbols(content)[1:]
        if self._place is not None:
            self._place.value = self._address

    def _stand_in(self) -> None:
        """Define its symbol by code that reads an address, and asks for it if it is 0.

        The arguments follow Numba's convention: where the result goes, where an error
        would go, then the kernel's own; the result is the error status.
        """
        import llvmlite.binding as llvm
        from llvmlite import ir

        self._place = ctypes.c_uint64(0)
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        kinds = {"int64": word, "float64": ir.DoubleType(), "boolean": ir.IntType(8)}
        kind = ir.FunctionType(
            ir.IntType(32),
            [pointer, pointer]
            + [
                pointer if type_name[-1] == "*" else kinds[type_name]
                for type_name in self.arguments
            ],
        )
        module = ir.Module()
        name = f"{self.symbol}_stand_in"
        entry = ir.Function(module, kind, name)
        build = ir.IRBuilder(entry.append_basic_block())
        place = build.inttoptr(word(ctypes.addressof(self._place)), word.as_pointer())
        stored_address = build.load_atomic(place, "acquire", 8)
        with build.if_else(
            build.icmp_unsigned("!=", stored_address, word(0)), likely=True
        ) as (
            there,
            missing,
        ):
            with there:
                at_once = build.block
            with missing:
                self._name = ctypes.create_string_buffer(self.symbol.encode())
                asked = ir.FunctionType(word, [word])
                finder = ctypes.cast(_provider, ctypes.c_void_p).value
                ask = build.inttoptr(word(finder), asked.as_pointer())
                provided_address = build.call(ask, [word(ctypes.addressof(self._name))])
                later = build.block
        code = build.phi(word)
        code.add_incoming(stored_address, at_once)
        code.add_incoming(provided_address, later)
        code = build.inttoptr(code, kind.as_pointer())
        build.ret(build.call(code, entry.args))
        engine = _machine()[1]
        engine.add_module(llvm.parse_assembly(str(module)))
        engine.finalize_object()
        llvm.add_symbol(self.symbol, engine.get_function_address(name))


def _provide(symbol: bytes) -> int:
    """Return the address of a shared kernel, for its stand-in.

    The calling machine code cannot go on without it, and no exception can pass through
    it: if compiling fails, the process ends.
    """
    try:
        with uninterrupted(in_callback=True):
            return SHARED[symbol.decode()].provide()
    except BaseException:
        traceback.print_exc()
        sys.stderr.write(
            f"riskcore: {symbol.decode()} could not be compiled, and its caller has no "
            "result without it. The process ends.\n"
        )
        sys.stderr.flush()
        os.abort()


_provider = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p)(_provide)


@cache
def sources_digest(modules: frozenset[str]) -> str:
    """Return a hash of the sources of modules and of all that they import."""
    digest = hashlib.sha256()
    for name, source in sorted(sources_of(modules).items()):
        digest.update(f"{name} {len(source)} ".encode() + source)
    return digest.hexdigest()


@cache
def _build(modules: frozenset[str]) -> str:
    """Return the name of a build: a hash of all that compiled modules depend on."""
    from importlib.metadata import version

    digest = hashlib.sha256(sources_digest(modules).encode())
    digest.update(f"{sys.version} {_machine()[2]}".encode())
    for tool in ("numba", "llvmlite", "numpy"):
        digest.update(f"{tool} {version(tool)}".encode())
    for setting in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        digest.update(f"{setting} {os.environ.get(setting)}".encode())
    return digest.hexdigest()[:24]


# An import statement, also after ";" or ":"; a false match in a text does no harm. A
# parser would take longer than the first call may.
_IMPORT = re.compile(
    rb"(?:^|[;:])[ \t]*(?:import[ \t]+([^\n]*)|"
    rb"from[ \t]+(riskcore[\w.]*)[ \t]+import\b[ \t]*"
    rb"(\((?:[^)#]|#[^\n]*)*\)|[^\n]*))",
    re.MULTILINE,
)


def sources_of(modules: frozenset[str]) -> dict[str, bytes]:
    """Return the sources of modules and of all that they import from this package."""
    package = Path(__file__).parents[2]
    found: dict[str, bytes] = {}
    left = [*modules, __name__]
    while left:
        name = left.pop()
        # The package itself has no kernels, only names that load modules.
        if name in found or name == package.name:
            continue
        found[name] = b""
        path = _source_file(name, package)
        if path is not None:
            found[name], names = _source_with_imports(path)
            left += names
        if name.startswith(f"{package.name}."):
            left.append(name.rpartition(".")[0])  # to import it loads its package
    return {name: source for name, source in found.items() if source}


@cache
def _source_with_imports(path: Path) -> tuple[bytes, tuple[str, ...]]:
    source = path.read_bytes()
    return source, (*imported_modules(source),)


# Imports for type checkers alone: no kernel depends on them.
_FOR_TYPES = re.compile(
    rb"^if TYPE_CHECKING:\r?\n(?:[ \t]+[^\n]*\n|\r?\n)*", re.MULTILINE
)


def imported_modules(source: bytes) -> Iterator[str]:
    """Yield the names from this package in the import statements of a source."""
    joined = re.sub(rb"\\\r?\n", b" ", _FOR_TYPES.sub(b"", source))
    for names, parent, members in _IMPORT.findall(joined):
        for name in re.findall(rb"\briskcore[\w.]*", names):
            yield name.decode()
        if parent:
            yield parent.decode()
            for member in re.findall(rb"\w+", members):
                # A name imported from a package may be a module.
                yield f"{parent.decode()}.{member.decode()}"


@cache
def _source_file(name: str, package: Path) -> Path | None:
    """Return the file of a module, without importing this package's own."""
    first, *rest = name.split(".")
    if first == package.name:
        stem = package.joinpath(*rest)
        candidates = (stem.with_suffix(".py"), stem / "__init__.py")
        return next((path for path in candidates if path.is_file()), None)
    file = getattr(sys.modules.get(name), "__file__", None)
    path = Path(file) if file else None
    return path if path and path.is_file() else None
