"""Write the kernels as C99, from the source that Numba compiles.

    python bindings/write_c.py            # bindings/c/riskcore.c and riskcore.h
    python bindings/write_c.py --check    # only tell whether they are current

Kernels are plain Python functions over doubles, integers, pointers and tuples of them.
Each becomes a C function for the types it is called with, its comments and the names of
its constants kept, so that both do the same operations in the same order.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import importlib
import inspect
import io
import math
import re
import sys
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from riskcore.core.compiled import jit, ufunc_maker
from riskcore.core.risk import bounds, individual, posterior, prior

FOLDER = Path(__file__).with_name("c")

# The functions of riskcore.h; for the others Python is needed.
NAMES = {
    individual: (
        "individual_risk",
        "individual_risk_from_frequencies",
        "log_individual_risk",
        "individual_risk_gradient",
    ),
    bounds: ("individual_risk_bounds",),
    prior: (
        "individual_risk_with_prior",
        "log_individual_risk_with_prior",
        "individual_risk_poisson",
        "log_individual_risk_poisson",
    ),
    posterior: ("individual_risk_deviation",),
}

# --- types ---------------------------------------------------------------------------

# A type is None for nothing, "double", "int64_t", "bool", a pointer such as "double *", or a tuple.
Type = Any

C_TYPES = {"float64": "double", "int64": "int64_t", "boolean": "bool"}
_LETTERS = {"double": "d", "int64_t": "i", "bool": "b"}
_TUPLES = {"dd": "Pair", "ddd": "Triple"}
LONGEST = 4  # longer tuples of constants are tables
_SIZES = {"bool": 0, "int64_t": 1, "double": 2}


class Untranslatable(Exception):
    """The source has something that this program does not know."""


def joined(a: Type, b: Type) -> Type:
    """Return the type of a variable that holds values of two types."""
    if a is None or a == b:
        return b
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(map(joined, a, b))
    for one, other in ((a, b), (b, a)):  # a table where a tuple is needed
        if isinstance(one, tuple) and "[" in other:
            return one
    if a in _SIZES and b in _SIZES:
        return max(a, b, key=_SIZES.__getitem__)
    raise Untranslatable(f"one variable for {a} and {b}")


def target_of(pointer: str) -> str:
    """Return the type that a pointer points to."""
    return pointer[:-1].rstrip()


def pointer_to(kind: str) -> str:
    """Return the type of a pointer."""
    return f"{kind}*" if kind.endswith("*") else f"{kind} *"


def declared(kind: str, name: str) -> str:
    """Return the declaration of a variable."""
    if kind.endswith("]"):
        kind = f"{kind.partition('[')[0]} *"
    return f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"


# --- primitives ----------------------------------------------------------------------

# What the compiler replaces by an instruction or two: C text and type of the result.
PRIMITIVES: dict[str, tuple[str, Type]] = {
    "fma": ("fma({}, {}, {})", "double"),
    "sqrt": ("sqrt({})", "double"),
    "bits": ("bits({})", "int64_t"),
    "from_bits": ("from_bits({})", "double"),
    "offset": ("{} + {}", "double *"),
    "address": ("address({})", "int64_t"),
    "matching": ("matching({}, {}, {})", "int64_t"),
    "lowest": ("lowest({})", "int64_t"),
    "size": ("size({})", "int64_t"),
}
# Room on the stack: type of an element, and their number.
ROOM = {
    "stack": ("double", 512),
    "integer_stack": ("int64_t", 513),
    "code_stack": ("uint8_t", 512),
    "number": ("int64_t", 41),
}
NOTHING = {"clear_flags"}  # flags mean nothing after a call

_C_NAMES = {
    *"""auto break case char const continue default do double else enum extern float for
    goto if inline int long register restrict return short signed sizeof static struct
    switch typedef union unsigned void volatile while bool true false
    exp expm1 log log1p sqrt fma fabs gamma lgamma tgamma sin cos pow round trunc floor
    ceil y0 y1 yn j0 j1 jn index abs div remainder signgam scalb significand drem
    bits from_bits address matching lowest size magnitude size_of lesser greater
    lesser_integer greater_integer floor_divide floor_modulo shift_left mode unused
    """.split()
}


class Text(NamedTuple):
    """An expression in C: its text, its type and how strongly its operator binds."""

    c: str
    kind: Type
    level: int = 15

    def at(self, level: int) -> str:
        """Return the text, in parentheses if its operator binds less than a level."""
        return self.c if self.level >= level else f"({self.c})"


_OPERATORS: dict[type, tuple[str, int]] = {
    ast.Mult: ("*", 13),
    ast.Div: ("/", 13),
    ast.Add: ("+", 12),
    ast.Sub: ("-", 12),
    ast.RShift: (">>", 11),
    ast.BitAnd: ("&", 8),
    ast.BitOr: ("|", 6),
}
_HELPERS = {
    ast.FloorDiv: "floor_divide",
    ast.Mod: "floor_modulo",
    ast.LShift: "shift_left",
}
_COMPARED = {
    ast.Eq: ("==", 9),
    ast.NotEq: ("!=", 9),
    ast.Lt: ("<", 10),
    ast.LtE: ("<=", 10),
    ast.Gt: (">", 10),
    ast.GtE: (">=", 10),
}


def literal(x: float | int | bool) -> str:
    """Return a number as C writes it, exactly."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return str(x) if abs(x) < 2**31 else f"INT64_C({x})"
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0.0 else "-INFINITY"
    short = repr(x)
    if len(short) > 10:
        short = re.sub(r"\.?0*p\+?", "p", x.hex())
    return short


# --- source --------------------------------------------------------------------------


@cache
def _file(path: str) -> tuple[list[str], dict[int, ast.FunctionDef], dict[int, str]]:
    """Return a file's lines, its functions by first line, its comments by line."""
    source = Path(path).read_text()
    functions = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            functions[first] = node
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokens
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
    }
    return source.splitlines(), functions, comments


def _values(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what the free names of a function stand for."""
    found = inspect.getclosurevars(function)
    return {**found.builtins, **found.globals, **found.nonlocals}


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return isinstance(value, int | float)


# --- the translation of one function -------------------------------------------------


class Variable:
    """A local variable: its type, and where it is used."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind: Type = None
        self.blocks: list[tuple[int, ...]] = []  # paths of blocks


class Translation:
    """A kernel for arguments of given types, as a C function."""

    def __init__(
        self, whole: Whole, function: Callable[..., Any], kinds: tuple[Type, ...]
    ) -> None:
        self.whole, self.function, self.kinds = whole, function, kinds
        path = inspect.getsourcefile(function)
        assert path is not None
        _, functions, self.comments = _file(path)
        self.node = functions[function.__code__.co_firstlineno]
        self.module = function.__module__
        self.values = _values(function)
        self.parameters = [each.arg for each in self.node.args.args]
        body = self.node.body
        self.doc = ast.get_docstring(self.node) or ""
        self.body = body[1:] if self.doc else body
        self.locals: dict[str, Variable] = {}
        self.result: Type = None
        self.name = ""
        self.called: dict[int, Translation] = {}
        self._infer()

    # --- types ---

    def _infer(self) -> None:
        """Find the types of all variables, until nothing changes."""
        for name, kind in zip(self.parameters, self.kinds, strict=True):
            self._variable(name).kind = kind
        before: Any = 0
        while before != (now := self._state()):
            before = now
            self.called.clear()
            self._walk(self.body)
        for name, kind in zip(self.parameters, self.kinds, strict=True):
            if self.locals[name].kind != kind:
                raise Untranslatable(f"{self.node.name}: {name} changes its type")

    def _state(self) -> Any:
        return [(each.name, each.kind) for each in self.locals.values()], self.result

    def _variable(self, name: str) -> Variable:
        return self.locals.setdefault(name, Variable(name))

    def _walk(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._types_of(statement)

    def _types_of(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.AugAssign(target=target, op=op, value=value):
                kind = self._kind_of_sum(self.kind(target), op, self.kind(value))
                self._learn_all(target, kind)
            case ast.For(target=target, iter=it, body=body):
                for name, kind in self._of_loop(target, it):
                    self._learn(name, kind)
                self._walk(body)
                for each in it.args if isinstance(it, ast.Call) else ():
                    self.kind(each)
            case ast.While(test=test, body=body):
                self.kind(test)
                self._walk(body)
            case ast.If(test=test, body=body, orelse=orelse):
                self.kind(test)
                self._walk(body)
                self._walk(orelse)
            case ast.Return(value=ast.expr() as value):
                self.result = joined(self.result, self.kind(value))
            case ast.Expr(value=value):
                self.kind(value)

    def _learn(self, name: str, kind: Type) -> None:
        if kind is not None:
            found = self._variable(name)
            found.kind = joined(found.kind, kind)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for each, its in zip(target.elts, value.elts, strict=True):
                self._assign(each, its)
        else:
            self._learn_all(target, self.kind(value))

    def _learn_all(self, target: ast.expr, kind: Type) -> None:
        if isinstance(target, ast.Tuple):
            kinds = kind if isinstance(kind, tuple) else [kind] * len(target.elts)
            for each, its in zip(target.elts, kinds, strict=True):
                self._learn_all(each, "double" if isinstance(kind, str) else its)
        elif isinstance(target, ast.Name):
            self._learn(target.id, kind)

    def _of_loop(self, target: ast.expr, it: ast.expr) -> Iterator[tuple[str, Type]]:
        """Yield the variables of a loop and their types."""
        if isinstance(target, ast.Name):
            named = isinstance(it, ast.Name)
            yield target.id, "double" if named else "int64_t"
        elif isinstance(target, ast.Tuple):
            for each in target.elts:
                yield from self._of_loop(each, ast.Constant(0))

    def kind(self, node: ast.expr) -> Type:
        """Return the type of an expression; None if it is not known yet."""
        match node:
            case ast.Name(id=name) if name in self.locals:
                return self.locals[name].kind
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._kind_of_call(name, arguments)
            case ast.Tuple(elts=parts):
                return tuple(map(self.kind, parts))
            case ast.Subscript(value=value, slice=place) if self.constant(node) is None:
                kind = self.kind(value)
                if isinstance(kind, tuple):
                    return kind[self.constant(place)]
                return kind and {"uint8_t": "int64_t"}.get(
                    target_of(kind), target_of(kind)
                )
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.kind(test)
                kinds = [each for each in map(self.kind, (body, orelse)) if each]
                return joined(kinds[0], kinds[-1]) if kinds else None
            case ast.BinOp(left=left, op=op, right=right):
                return self._kind_of_sum(self.kind(left), op, self.kind(right))
            case ast.UnaryOp(op=ast.Not()) | ast.Compare() | ast.BoolOp():
                for each in ast.iter_child_nodes(node):
                    if isinstance(each, ast.expr):
                        self.kind(each)
                return "bool"
            case ast.UnaryOp(operand=operand):
                kind = self.kind(operand)
                return "int64_t" if kind == "bool" else kind
        value = self.constant(node)
        if value is None:
            raise Untranslatable(ast.dump(node))
        if isinstance(node, ast.Name) and isinstance(value, tuple) and (
            len(value) > LONGEST
        ):
            return f"const double[{len(value)}]"
        return _kind_of_value(value)

    def _kind_of_sum(self, left: Type, op: ast.operator, right: Type) -> Type:
        if left is None or right is None:
            return None
        if isinstance(op, ast.Div):
            return "double"
        if isinstance(op, ast.BitAnd | ast.BitOr) and left == right == "bool":
            return "bool"
        return joined("int64_t", joined(left, right))

    def _kind_of_call(self, name: str, arguments: list[ast.expr]) -> Type:
        called = self.values.get(name)
        kinds = self._kinds_of_arguments(arguments)
        if called in (float, int, bool):
            return {float: "double", int: "int64_t", bool: "bool"}[called]
        if called in (abs, min, max):
            known = [each for each in kinds if each is not None]
            kind = None
            for each in known:
                kind = joined(kind, each)
            return kind
        if called is len:
            return "int64_t"
        if called in self.whole.primitives:
            return self.whole.kind_of_primitive(called)
        if any(each is None for each in _flat(kinds)):
            return None
        its = self.whole.translation(called, tuple(kinds))
        self.called[id(its)] = its
        return its.result

    def _kinds_of_arguments(self, arguments: list[ast.expr]) -> list[Type]:
        kinds: list[Type] = []
        for each in arguments:
            if isinstance(each, ast.Starred):
                kind = self.kind(each.value)
                kinds += kind if kind is not None else [None]
            else:
                kinds.append(self.kind(each))
        return kinds

    def constant(self, node: ast.expr) -> Any:
        """Return the value of an expression of constants, or None."""
        for each in ast.walk(node):
            if isinstance(each, ast.Call):
                if not (isinstance(each.func, ast.Name) and each.func.id == "len"):
                    return None
            elif isinstance(each, ast.Name):
                known = each.id in self.values and each.id not in self.locals
                value = self.values.get(each.id)
                if not known or not (_is_constant(value) or value in (math, len)):
                    return None
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval")
        return eval(code, {**self.values, "__builtins__": builtins})


def _flat(kinds: list[Type]) -> Iterator[Type]:
    for each in kinds:
        if isinstance(each, tuple):
            yield from _flat(list(each))
        else:
            yield each


def _kind_of_value(value: Any) -> Type:
    if isinstance(value, tuple):
        return tuple(map(_kind_of_value, value))
    kinds = {bool: "bool", int: "int64_t", float: "double"}
    return kinds[type(value)]


# --- from statements to lines --------------------------------------------------------


class Writer:
    """Writes the body of a translation."""

    def __init__(self, translation: Translation) -> None:
        self.of = translation
        self.whole = translation.whole
        self.values = translation.values
        self.lines: list[str] = []
        self.depth = 1
        self.before: list[str] | None = []  # what an expression needs first
        self.temporaries = 0
        self.declared: set[str] = set()
        self.comments = dict(translation.comments)
        self.taken = _C_NAMES | self.whole.names_in(translation)
        self._find_blocks()

    # --- where variables live ---

    def _find_blocks(self) -> None:
        """Find the blocks in which each variable is used."""
        self.uses: dict[str, list[tuple[int, ...]]] = {}
        self.headers: dict[str, list[tuple[int, ...]]] = {}  # blocks of its loops
        self._blocks_of(self.of.body, ())
        self.home: dict[str, tuple[int, ...]] = {}
        for name, paths in self.uses.items():
            common = paths[0]
            for path in paths[1:]:
                while path[: len(common)] != common:
                    common = common[:-2]  # a statement, and which of its blocks
            self.home[name] = common
        # A variable that is only used in loops over it belongs to their headers.
        self.of_loops = {
            name
            for name, blocks in self.headers.items()
            if all(any(p[: len(b)] == b for b in blocks) for p in self.uses[name])
        }

    def _blocks_of(self, body: list[ast.stmt], path: tuple[int, ...]) -> None:
        for place, each in enumerate(body):
            match each:
                case ast.For(target=target, iter=it, body=inside):
                    self._use(it, path)
                    self._use(target, (*path, place, 0))
                    for name in _names(target):
                        self.headers.setdefault(name, []).append((*path, place, 0))
                    self._blocks_of(inside, (*path, place, 0))
                case ast.While(test=test, body=inside):
                    self._use(test, path)
                    self._blocks_of(inside, (*path, place, 0))
                case ast.If(test=test, body=inside, orelse=orelse):
                    self._use(test, path)
                    self._blocks_of(inside, (*path, place, 0))
                    self._blocks_of(orelse, (*path, place, 1))
                case _:
                    self._use(each, path)

    def _use(self, node: ast.AST, path: tuple[int, ...]) -> None:
        for name in _names(node):
            if name in self.of.locals and name not in self.of.parameters:
                self.uses.setdefault(name, []).append(path)

    # --- lines ---

    def put(self, line: str) -> None:
        """Add a line, or several if it is long."""
        self.lines += wrapped("    " * self.depth + line)

    def body(self, body: list[ast.stmt], path: tuple[int, ...] = ()) -> None:
        """Write the statements of a block."""
        for place, each in enumerate(body):
            self._comments_before(each)
            self._declare_for(each, path)
            self.before = []
            self._statement(each, (*path, place))

    def _comments_before(self, statement: ast.stmt) -> None:
        first = self.of.node.lineno
        lines = [n for n in self.comments if first < n < statement.lineno]
        if lines:
            text = " ".join(self.comments.pop(n) for n in sorted(lines))
            if not text.startswith("noqa"):
                self.put(f"/* {text} */")

    def _declare_for(self, statement: ast.stmt, path: tuple[int, ...]) -> None:
        """Declare what lives in this block, if the statement uses it otherwise first.

        An assignment in this block declares its variable itself.
        """
        own: set[str] = set()
        if isinstance(statement, ast.Assign | ast.AnnAssign) and not self._is_swap(
            statement
        ):
            targets = getattr(statement, "targets", None) or [statement.target]
            own = set().union(*(_stored(t) for t in targets))
        names = [
            name
            for name in dict.fromkeys(_names(statement))
            if self.home.get(name) == path
            and name not in self.declared
            and name not in own
            and name not in self.of_loops
            and name != "_"
        ]
        by_kind: dict[str, list[str]] = {}
        for name in names:
            kind = self.whole.c_type(self.of.locals[name].kind)
            by_kind.setdefault(kind, []).append(self.name(name))
            self.declared.add(name)
        for kind, found in by_kind.items():
            self.put(f"{declared(kind, ', '.join(found))};")

    def _is_swap(self, statement: ast.Assign | ast.AnnAssign) -> bool:
        """Return whether targets of a tuple are read by values after them."""
        target, value = _one_target(statement), statement.value
        if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)):
            return False
        done: set[str] = set()
        for each, its in zip(target.elts, value.elts, strict=True):
            if done & set(_names(its)):
                return True
            done |= set(_names(each))
        return False

    def name(self, name: str) -> str:
        """Return the name of a local variable in C."""
        plain = "unused" if name == "_" else name
        return f"{plain}_" if plain in self.taken else plain

    def temporary(self, kind: Type, text: str) -> str:
        """Hold a value in a constant of its own; return its name."""
        if self.before is None:
            raise Untranslatable(f"{self.of.node.name}: {text} in a branch")
        self.temporaries += 1
        name = f"t{self.temporaries}"
        self.before.append(f"const {declared(self.whole.c_type(kind), name)} = {text};")
        return name

    def flush(self) -> None:
        """Write what the expressions of a statement need first."""
        for line in self.before or ():
            self.put(line)
        self.before = []

    # --- statements ---

    def _statement(self, statement: ast.stmt, path: tuple[int, ...]) -> None:
        match statement:
            case ast.Assign() | ast.AnnAssign():
                self._assignment(statement, path[:-1])
            case ast.AugAssign(target=target, op=op, value=value):
                self._in_place(target, op, value)
            case ast.Return(value=value):
                text = self._returned(value) if value is not None else ""
                self.flush()
                self.put(f"return {text};" if text else "return;")
            case ast.If():
                self._if(statement, path)
            case ast.While(test=test, body=body):
                condition = self._condition(test)
                self.put(f"while ({condition}) {{")
                self._inside(body, (*path, 0))
                self.put("}")
            case ast.For():
                self._for(statement, path)
            case ast.Break():
                self.put("break;")
            case ast.Expr(value=value):
                text = self.expression(value)
                self.flush()
                if text.c:
                    self.put(f"{text.c};")
            case _:
                raise Untranslatable(ast.dump(statement))

    def _condition(self, test: ast.expr) -> str:
        self.before = None
        return self.expression(test).c

    def _inside(self, body: list[ast.stmt], path: tuple[int, ...]) -> None:
        self.depth += 1
        self.body(body, path)
        self.depth -= 1

    def _if(self, statement: ast.If, path: tuple[int, ...], word: str = "if") -> None:
        condition = self.expression(statement.test).c
        self.flush()
        self.put(f"{word} ({condition}) {{")
        self._inside(statement.body, (*path, 0))
        orelse = statement.orelse
        if orelse:
            self.put("} else {")
            self._inside(orelse, (*path, 1))
        self.put("}")

    def _returned(self, value: ast.expr) -> str:
        return self.converted(value, self.of.result)

    def _in_place(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        assert isinstance(target, ast.Name | ast.Subscript)
        text, its = self.expression(value), self.expression(target)
        self.flush()
        if type(op) in _OPERATORS:
            self.put(f"{its.c} {_OPERATORS[type(op)][0]}= {text.c};")
        else:
            self.put(f"{its.c} = {_HELPERS[type(op)]}({its.c}, {text.c});")

    def _assignment(
        self, statement: ast.Assign | ast.AnnAssign, path: tuple[int, ...]
    ) -> None:
        value = statement.value
        assert value is not None
        if isinstance(statement, ast.Assign) and len(statement.targets) > 1:
            for target in reversed(statement.targets):
                self._set(target, self.expression(value).c, path)
            return
        target = _one_target(statement)
        if not isinstance(target, ast.Tuple):
            self._set_to(target, value, path)
        elif not isinstance(value, ast.Tuple):
            self._unpack(target, value, path)
        elif self._is_swap(statement):
            pairs = list(zip(target.elts, value.elts, strict=True))
            texts = []
            for _, its in pairs:
                text = self.expression(its)
                texts.append(self.temporary(text.kind, text.c))
            self.flush()
            for (each, _), text in zip(pairs, texts, strict=True):
                self._set(each, text, path)
        else:
            for each, its in zip(target.elts, value.elts, strict=True):
                self.before = []
                if isinstance(each, ast.Tuple):
                    self._unpack(each, its, path)
                else:
                    self._set_to(each, its, path)

    def _set_to(
        self, target: ast.expr, value: ast.expr, path: tuple[int, ...]
    ) -> None:
        room = self._room(value)
        if room is not None:
            assert isinstance(target, ast.Name)
            kind, size = room
            self.declared.add(target.id)
            self.put(f"{kind} {self.name(target.id)}[{size}];")
            return
        kind = self.of.kind(target)
        text = self.converted(value, kind) if isinstance(kind, tuple) else None
        text = self.expression(value).c if text is None else text
        self.flush()
        self._set(target, text, path)

    def _room(self, value: ast.expr) -> tuple[str, int] | None:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            called = self.values.get(value.func.id)
            if called in self.whole.primitives:
                return ROOM.get(called.__name__)
        return None

    def _set(self, target: ast.expr, text: str, path: tuple[int, ...]) -> None:
        if isinstance(target, ast.Name):
            name = self.name(target.id)
            if self._is_new(target.id, path):
                self.declared.add(target.id)
                kind = self.whole.c_type(self.of.locals[target.id].kind)
                name = declared(kind, name)
        else:
            name = self.expression(target).c
        self.put(f"{name} = {text};")

    def _unpack(
        self, target: ast.Tuple, value: ast.expr, path: tuple[int, ...]
    ) -> None:
        """Write the elements of a tuple into variables."""
        constant = self.of.constant(value)
        if constant is not None:
            for each, its in zip(target.elts, constant, strict=True):
                self._set(each, literal(its), path)
            return
        text = self.expression(value)
        source = text.c if text.c.isidentifier() else None
        if source is None:
            source = self.temporary(text.kind, text.c)
        self.flush()
        self._spread(target, text.kind, source, path)

    def _spread(
        self, target: ast.Tuple, kind: Type, source: str, path: tuple[int, ...]
    ) -> None:
        new = []  # doubles that are declared here, in one line
        for place, each in enumerate(target.elts):
            field = f"{source}.{_field(place)}"
            if isinstance(each, ast.Tuple):
                self._spread(each, kind[place], field, path)
            elif isinstance(each, ast.Name) and self._is_new(each.id, path):
                self.declared.add(each.id)
                new.append((self.of.locals[each.id].kind, self.name(each.id), field))
            elif not (isinstance(each, ast.Name) and each.id == "_"):
                self._set(each, field, path)
        for one in dict.fromkeys(its for its, _, _ in new):
            parts = [f"{name} = {field}" for its, name, field in new if its == one]
            self.put(f"{declared(self.whole.c_type(one), ', '.join(parts))};")

    def _is_new(self, name: str, path: tuple[int, ...]) -> bool:
        """Return whether an assignment in a block declares a variable."""
        here = self.home.get(name) == path and name not in self.declared
        return here and name != "_"

    def _for(self, statement: ast.For, path: tuple[int, ...]) -> None:
        target, it = statement.target, statement.iter
        values = self._unrolled(it)
        if values is not None:
            for value in values:
                self.put("{")
                self.depth += 1
                self.before = []
                self.declared -= {
                    name
                    for name, home in self.home.items()
                    if home[: len(path) + 1] == (*path, 0)
                }
                self._constants(target, value)
                self.depth -= 1
                self._inside(statement.body, (*path, 0))
                self.put("}")
            return
        assert isinstance(target, ast.Name)
        name = self.name(target.id)
        if isinstance(it, ast.Name):  # numbers of a table
            numbers = self.of.constant(it)
            if numbers is None:  # an argument
                count = int(self.of.kind(it).partition("[")[2][:-1])
                table = self.name(it.id)
            elif it.id in self.of.function.__globals__:
                table = self.expression(it).c
            else:
                table = self.name(it.id)
                self.lines += [
                    "    " * self.depth + each for each in _constant(table, numbers)
                ]
            count = len(numbers) if numbers is not None else count
            self.put(f"for (int64_t place = 0; place < {count}; place++) {{")
            self.depth += 1
            self.put(f"const double {name} = {table}[place];")
            self.depth -= 1
        else:
            self._range(name, it, statement, target.id in self.of_loops)
        self._inside(statement.body, (*path, 0))
        self.put("}")

    def _range(
        self, name: str, it: ast.expr, statement: ast.For, own: bool
    ) -> None:
        assert isinstance(it, ast.Call)
        ends = [self.expression(each) for each in it.args]
        start = ends[0].c if len(ends) > 1 else "0"
        stop = ends[1] if len(ends) > 1 else ends[0]
        step = self.of.constant(it.args[2]) if len(ends) > 2 else 1
        changed = set().union(*map(_stored, statement.body))
        node = it.args[1] if len(ends) > 1 else it.args[0]
        simple = isinstance(node, ast.Name) and node.id not in changed
        end = stop.at(11)
        if not simple and self.of.constant(node) is None:
            end = self.temporary("int64_t", stop.c)
        self.flush()
        sign, by = ("<", "++") if step > 0 else (">", "--")
        by = by if abs(step) == 1 else f" {by[0]}= {abs(step)}"
        kind = "int64_t " if own else ""
        if _is_each(statement):
            self.put("RISKCORE_EACH")
        self.put(f"for ({kind}{name} = {start}; {name} {sign} {end}; {name}{by}) {{")

    def _unrolled(self, it: ast.expr) -> list[Any] | None:
        """Return the constant values that a loop takes one by one."""
        if isinstance(it, ast.Call) and isinstance(it.func, ast.Name):
            if it.func.id == "enumerate":
                return list(enumerate(self.of.constant(it.args[0])))
        if isinstance(it, ast.Tuple):
            return list(self.of.constant(it))
        return None

    def _constants(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Tuple):
            for each, its in zip(target.elts, value, strict=True):
                self._constants(each, its)
        else:
            assert isinstance(target, ast.Name)
            kind = _kind_of_value(value)
            self.put(f"const {kind} {self.name(target.id)} = {literal(value)};")

    # --- expressions ---

    def converted(self, node: ast.expr, kind: Type) -> str:
        """Return an expression as a value of a type."""
        if isinstance(kind, tuple) and isinstance(node, ast.Tuple):
            parts = [
                self.converted(each, its)
                for each, its in zip(node.elts, kind, strict=True)
            ]
            return f"({self.whole.c_type(kind)}){{{', '.join(parts)}}}"
        if isinstance(kind, tuple):
            value = self.of.constant(node)
            if value is not None:
                assert isinstance(value, tuple)
                parts = ", ".join(map(literal, value))
                return f"({self.whole.c_type(kind)}){{{parts}}}"
        text = self.expression(node)
        if text.kind != kind and isinstance(kind, tuple):
            raise Untranslatable(f"{text.c} is {text.kind}, not {kind}")
        return text.c

    def expression(self, node: ast.expr) -> Text:
        """Return an expression in C."""
        match node:
            case ast.Name(id=name) if name in self.of.locals:
                return Text(self.name(name), self.of.kind(node))
            case ast.Name(id=name):
                return self._named(name)
            case ast.Constant(value=value):
                text = literal(value)
                return Text(text, _kind_of_value(value), 14 if text[0] == "-" else 15)
            case ast.Call(func=ast.Name(id="len")):
                return self._value(node)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, arguments)
            case ast.Tuple():
                kind = self.of.kind(node)
                return Text(self.converted(node, kind), kind)
            case ast.Subscript(value=value, slice=place):
                return self._element(node, value, place)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(test, body, orelse)
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp(op=op, values=values):
                return self._conditions(op, values)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(node, left, op, right)
        return self._value(node)

    def _value(self, node: ast.expr) -> Text:
        value = self.of.constant(node)
        if value is None:
            raise Untranslatable(ast.dump(node))
        text = literal(value)
        return Text(text, _kind_of_value(value), 14 if text[0] == "-" else 15)

    def _named(self, name: str) -> Text:
        value = self.values[name]
        if name not in self.of.function.__globals__:  # of a maker of kernels
            text = literal(value)
            return Text(text, _kind_of_value(value), 14 if text[0] == "-" else 15)
        text = self.whole.constant_names[self.whole.constant_key(self.of, name)]
        return Text(text, self.of.kind(ast.Name(name, ast.Load())))

    def _element(
        self, node: ast.Subscript, value: ast.expr, place: ast.expr
    ) -> Text:
        if self.of.constant(node) is not None:
            return self._value(node)
        kind = self.of.kind(value)
        base = self.expression(value).at(15)
        if isinstance(kind, tuple):
            at = self.of.constant(place)
            return Text(f"{base}.{_field(at)}", kind[at])
        return Text(f"{base}[{self.expression(place).c}]", self.of.kind(node))

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Text:
        condition = self.expression(test)
        held, self.before = self.before, None
        one, other = self.expression(body), self.expression(orelse)
        self.before = held
        kind = joined(one.kind, other.kind)
        test_text = condition.at(9 if condition.level in (6, 8) else 4)
        return Text(f"{test_text} ? {one.at(4)} : {other.at(4)}", kind, 3)

    def _comparison(self, node: ast.Compare) -> Text:
        sides = [node.left, *node.comparators]
        parts = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            sign, level = _COMPARED[type(op)]
            one, other = self.expression(left), self.expression(right)
            parts.append(f"{one.at(11)} {sign} {other.at(11)}")
        if len(parts) == 1:
            return Text(parts[0], "bool", level)
        return Text(" && ".join(parts), "bool", 5)

    def _conditions(self, op: ast.boolop, values: list[ast.expr]) -> Text:
        first = self.expression(values[0])
        held, self.before = self.before, None
        texts = [first, *map(self.expression, values[1:])]
        self.before = held
        if isinstance(op, ast.And):
            return Text(" && ".join(each.at(6) for each in texts), "bool", 5)
        return Text(" || ".join(each.at(6) for each in texts), "bool", 4)

    def _unary(self, op: ast.unaryop, operand: ast.expr) -> Text:
        text = self.expression(operand)
        sign = {ast.USub: "-", ast.UAdd: "+", ast.Not: "!"}[type(op)]
        inner = text.at(15)
        kind = "bool" if sign == "!" else joined("int64_t", text.kind)
        return Text(f"{sign}{inner}", kind, 14)

    def _operation(
        self, node: ast.BinOp, left: ast.expr, op: ast.operator, right: ast.expr
    ) -> Text:
        if isinstance(op, ast.Pow):
            return self._value(node)
        one, other = self.expression(left), self.expression(right)
        kind = self.of._kind_of_sum(one.kind, op, other.kind)
        if type(op) in _HELPERS:
            return Text(f"{_HELPERS[type(op)]}({one.c}, {other.c})", "int64_t")
        sign, level = _OPERATORS[type(op)]
        if isinstance(op, ast.Div) and one.kind != "double" != other.kind:
            return Text(f"(double){one.at(14)} / (double){other.at(14)}", kind, 13)
        if level < 12:  # compilers warn of these without parentheses
            same = isinstance(left, ast.BinOp) and type(left.op) is type(op)
            first = one.c if same else _as_bit(one)
            return Text(f"{first} {sign} {_as_bit(other)}", kind, level)
        return Text(f"{one.at(level)} {sign} {other.at(level + 1)}", kind, level)

    def _call(self, name: str, arguments: list[ast.expr]) -> Text:
        called = self.values[name]
        if called in (float, int, bool):
            text = self.expression(arguments[0])
            kind = {float: "double", int: "int64_t", bool: "bool"}[called]
            return Text(f"({kind}){text.at(14)}", kind, 14)
        if called is abs:
            return self._size(arguments[0])
        if called in (min, max):
            return self._extreme("lesser" if called is min else "greater", arguments)
        if called in self.whole.primitives:
            return self._primitive(called, arguments)
        kinds = tuple(self.of._kinds_of_arguments(arguments))
        translation = self.whole.translation(called, kinds)
        texts = self._arguments(arguments, translation)
        return Text(f"{translation.name}({', '.join(texts)})", translation.result)

    def _arguments(
        self, arguments: list[ast.expr], called: Translation | None = None
    ) -> list[str]:
        texts: list[str] = []
        for each in arguments:
            if isinstance(each, ast.Starred):
                texts += self._starred(each.value)
            elif called is not None:
                texts.append(self.converted(each, called.kinds[len(texts)]))
            else:
                texts.append(self.expression(each).c)
        return texts

    def _starred(self, value: ast.expr) -> list[str]:
        text = self.expression(value)
        source = text.c if text.c.isidentifier() else None
        if source is None:
            source = self.temporary(text.kind, text.c)
        return [f"{source}.{_field(place)}" for place in range(len(text.kind))]

    def _size(self, node: ast.expr) -> Text:
        text = self.expression(node)
        real = text.kind == "double"
        return Text(f"{'magnitude' if real else 'size_of'}({text.c})", text.kind)

    def _extreme(self, name: str, arguments: list[ast.expr]) -> Text:
        """Write min and max, which differ from C's for nan."""
        one, other = map(self.expression, arguments)
        kind = joined("int64_t", joined(one.kind, other.kind))
        ending = "" if kind == "double" else "_integer"
        return Text(f"{name}{ending}({one.c}, {other.c})", kind)

    def _primitive(self, called: Callable[..., Any], arguments: list[ast.expr]) -> Text:
        name = called.__name__
        if name in NOTHING:
            return Text("", None)
        if self.whole.is_table(called):
            table = self.whole.constant_names[name]
            return Text(f"{table}[{self.expression(arguments[0]).c}]", "double")
        pattern, kind = PRIMITIVES[name]
        text = pattern.format(*self._arguments(arguments))
        return Text(text, kind, 12 if " + " in pattern else 15)


def _is_each(loop: ast.For) -> bool:
    """Return whether a loop touches just element i of arrays, and writes some."""
    assert isinstance(loop.target, ast.Name)
    places, stores = set(), False
    for each in ast.walk(ast.Module(list(loop.body), [])):
        if isinstance(each, ast.Subscript):
            places.add(ast.unparse(each.slice))
            stores |= isinstance(each.ctx, ast.Store)
        elif isinstance(each, ast.For | ast.While):
            return False
    return stores and places == {loop.target.id}


def _as_bit(text: Text) -> str:
    """Return an operand of & or |: compilers ask about a bool that is no comparison."""
    called = text.kind == "bool" and text.level == 15 and "(" in text.c
    return f"(int){text.c}" if called else text.at(14)


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id


def _stored(node: ast.AST) -> set[str]:
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
    return found


def _one_target(statement: ast.Assign | ast.AnnAssign) -> ast.expr:
    return statement.targets[0] if isinstance(statement, ast.Assign) else statement.target


def _field(place: int) -> str:
    return "abcdefghij"[place]


def wrapped(line: str, width: int = 96) -> list[str]:
    """Return a line cut where it is too long."""
    indent = " " * (len(line) - len(line.lstrip()))
    if line.lstrip().startswith("/*"):
        text = textwrap.wrap(line.strip(), width - len(indent), subsequent_indent="   ")
        return [indent + each for each in text]
    lines = []
    while len(line) > width:
        cut = max(line.rfind(mark, len(indent) + 8, width) for mark in (", ", " ? ", " : "))
        if cut < 0:
            cut = line.rfind(" ", len(indent) + 8, width)
        if cut < 0:
            break
        cut += 1 if line[cut] == "," else 0
        lines.append(line[:cut])
        line = f"{indent}    {line[cut:].lstrip()}"
    return [*lines, line]


# --- the whole file ------------------------------------------------------------------


class Whole:
    """All functions and constants of a file."""

    def __init__(self) -> None:
        self.translations: dict[Any, Translation] = {}  # each after those it calls
        self.primitives = {each for each, _, _ in jit._primitives}
        self.shared = {each.function for each in jit._shared.values()}
        self.tuples: dict[Type, str] = {}
        self.constants: dict[Any, Any] = {}
        self.constant_names: dict[Any, str] = {}
        self.given_names: dict[int, str] = {}

    def translation(
        self, function: Callable[..., Any], kinds: tuple[Type, ...]
    ) -> Translation:
        """Return the translation of a kernel for arguments of given types."""
        key = (function, kinds)
        if key not in self.translations:
            found = Translation(self, function, kinds)
            self.translations[key] = found
        return self.translations[key]

    # --- primitives ---

    def kind_of_primitive(self, called: Callable[..., Any]) -> Type:
        """Return the type of a primitive's result."""
        if called.__name__ in ROOM:
            return pointer_to(ROOM[called.__name__][0])
        if called.__name__ in NOTHING:
            return None
        if self.is_table(called):
            return "double"
        return PRIMITIVES[called.__name__][1]

    def is_table(self, called: Callable[..., Any]) -> bool:
        """Return whether a primitive looks up a number in a table."""
        return called in self.primitives and "values" in called.__code__.co_freevars

    # --- names ---

    def constant_key(self, user: Translation, name: str) -> Any:
        """Return what identifies a constant: its name and value."""
        return name.strip("_"), repr(user.values[name])

    def _keep_called(self, roots: list[Translation]) -> None:
        """Drop the translations for types that were only passing guesses."""
        kept: set[int] = set()
        left = list(roots)
        while left:
            each = left.pop()
            if id(each) not in kept:
                kept.add(id(each))
                left += each.called.values()
        self.translations = {
            key: each for key, each in self.translations.items() if id(each) in kept
        }

    def _collect(self) -> None:
        """Find the constants, and give names to all."""
        users: dict[Any, str] = {}
        for each in self.translations.values():
            for name in dict.fromkeys(_names(ast.Module(each.body, []))):
                value = each.values.get(name)
                if name in each.locals or name not in each.function.__globals__:
                    continue
                if callable(value) and value in self.primitives:
                    if self.is_table(value):
                        table = inspect.getclosurevars(value).nonlocals["values"]
                        self.constants[value.__name__] = table
                        self.constant_names[value.__name__] = value.__name__.strip("_")
                elif _is_constant(value) and not _is_nested(value):
                    key = self.constant_key(each, name)
                    self.constants[key] = value
                    users.setdefault(key, each.module)
        often: dict[str, int] = {}
        for name, _ in users:
            often[name] = often.get(name, 0) + 1
        for key, module in users.items():
            name = key[0]
            if often[name] > 1:
                name = f"{module.rpartition('.')[2].strip('_')}_{name}"
            while name in self.constant_names.values():
                name += "_"
            self.constant_names[key] = name
        self.by_c_name = {
            name: self.constants[key] for key, name in self.constant_names.items()
        }
        self._name_functions()

    def _name_functions(self) -> None:
        aliases = _aliases()
        wanted: dict[str, list[Translation]] = {}
        for each in self.translations.values():
            name = self.given_names.get(id(each.function)) or aliases.get(
                id(each.function), each.function.__name__
            )
            wanted.setdefault(name.strip("_"), []).append(each)
        taken = _C_NAMES | set(self.constant_names.values())
        for name, those in wanted.items():
            modules = [each.module.rpartition(".")[2].strip("_") for each in those]
            for each, module in zip(those, modules, strict=True):
                full = name
                if len(set(modules)) > 1 or name in taken:
                    full = f"{module}_{name}"
                number = 2
                while full in taken:
                    full = f"{full.rstrip('0123456789').rstrip('_')}_{number}"
                    number += 1
                each.name = full
                taken.add(full)

    def names_in(self, translation: Translation) -> set[str]:
        """Return the names of functions and constants that a function uses."""
        names = {each.name for each in translation.called.values()}
        for name in _names(ast.Module(translation.body, [])):
            key = (name.strip("_"), repr(translation.values.get(name)))
            if key in self.constant_names:
                names.add(self.constant_names[key])
        return names

    def c_type(self, kind: Type) -> str:
        """Return the name of a type."""
        if kind is None:
            return "void"
        if not isinstance(kind, tuple):
            return str(kind)
        if kind not in self.tuples:
            letters = _letters(kind)
            self.tuples[kind] = _TUPLES.get(letters, f"Tuple_{letters}")
        return self.tuples[kind]

    # --- text ---

    def functions(self, roots: list[Translation]) -> list[str]:
        """Return the lines of all constants and functions that the roots need."""
        self._keep_called(roots)
        self._collect()
        lines: list[str] = []
        written: set[str] = set()
        module = ""
        for each in self.translations.values():
            if each.module != module:
                module = each.module
                path = f"{module.replace('.', '/')}.py"
                lines += ["", f"/* --- {path} {'-' * (75 - len(path))} */"]
            function = self._function(each)
            constants = self._constants_in(function, written)
            lines += ["", *constants] if constants else []
            lines += ["", *function]
        return lines

    def _constants_in(self, lines: list[str], written: set[str]) -> list[str]:
        """Return the definitions of the constants that lines are the first to use."""
        words = re.findall(r"[A-Za-z_]\w*", "\n".join(lines))
        found = []
        for name in dict.fromkeys(words):
            if name in self.by_c_name and name not in written:
                written.add(name)
                found += _constant(name, self.by_c_name[name])
        return found

    def _function(self, translation: Translation) -> list[str]:
        writer = Writer(translation)
        comment = textwrap.dedent(translation.doc).strip().partition("\n\n")
        about = comment[0].replace("\n", " ").replace("``", "")
        lines = wrapped(f"/* {about} */") if about else []
        kept = "RISKCORE_SHARED" if translation.function in self.shared else "RISKCORE_KERNEL"
        kinds = [
            declared(self.c_type(kind), writer.name(name))
            for name, kind in zip(
                translation.parameters, translation.kinds, strict=True
            )
        ]
        head = declared(self.c_type(translation.result), translation.name)
        lines += wrapped(f"{kept} {head}({', '.join(kinds)})")
        writer.body(translation.body)
        return [*lines, "{", *writer.lines, "}"]

    def structures(self) -> list[str]:
        """Return the lines that define the tuples."""
        lines: list[str] = []
        for kind in sorted(self.tuples, key=lambda kind: (_depth(kind), _letters(kind))):
            fields = [
                f"{declared(self.c_type(each), _field(place))};"
                for place, each in enumerate(kind)
            ]
            lines.append(f"typedef struct {{ {' '.join(fields)} }} {self.tuples[kind]};")
        return lines


def _is_nested(value: Any) -> bool:
    return isinstance(value, tuple) and any(isinstance(each, tuple) for each in value)


def _letters(kind: Type) -> str:
    if isinstance(kind, tuple):
        return "".join(
            f"_{_letters(each)}_" if isinstance(each, tuple) else _letters(each)
            for each in kind
        ).strip("_")
    return _LETTERS[kind]


def _depth(kind: Type) -> int:
    return 1 + max(map(_depth, kind)) if isinstance(kind, tuple) else 0


def _constant(name: str, value: Any) -> list[str]:
    """Return the definition of a constant or a table."""
    if isinstance(value, tuple):
        numbers = ", ".join(map(literal, value))
        return wrapped(f"static const double {name}[] = {{{numbers}}};")
    kind = _kind_of_value(value)
    return [f"static const {kind} {name} = {literal(value)};"]


def _aliases() -> dict[int, str]:
    """Return the names of modules' functions, by identity."""
    found: dict[int, str] = {}
    for name in sorted(sys.modules):
        if name.startswith("riskcore."):
            for alias, value in vars(sys.modules[name]).items():
                if inspect.isfunction(value):
                    own = value.__module__ == name or id(value) not in found
                    if own and alias != value.__name__ or id(value) not in found:
                        found[id(value)] = alias
    return found


PRELUDE = '''
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Every operation must be rounded once, as written: no fast-math, no registers of 80 bits, no
   products and sums joined to fused ones. */
#ifdef __FAST_MATH__
#error "riskcore: compile without -ffast-math"
#endif
#if FLT_EVAL_METHOD != 0
#error "riskcore: doubles must be evaluated as doubles; on 32-bit x86 use -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

#if defined(__GNUC__)
#define RISKCORE_KERNEL static inline __attribute__((always_inline, unused))
#define RISKCORE_SHARED static __attribute__((noinline, unused))
#elif defined(_MSC_VER)
#define RISKCORE_KERNEL static __forceinline
#define RISKCORE_SHARED static __declspec(noinline)
#else
#define RISKCORE_KERNEL static inline
#define RISKCORE_SHARED static
#endif
/* Before a loop that touches just element i of each array: they may coincide, not overlap. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define RISKCORE_EACH _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define RISKCORE_EACH _Pragma("GCC ivdep")
#else
#define RISKCORE_EACH
#endif
/* Where the compiler may not take for granted that the processor has FMA, the entry points are
   compiled for those that have, too, and the loader chooses. */
#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && !defined(__FMA__) && \\
    !defined(RISKCORE_NO_CLONES)
#define RISKCORE_CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define RISKCORE_CLONES
#endif

/* --- operations ------------------------------------------------------------------------------ */

RISKCORE_KERNEL int64_t bits(double x)
{
    union { double number; int64_t pattern; } both;
    both.number = x;
    return both.pattern;
}

RISKCORE_KERNEL double from_bits(int64_t pattern)
{
    union { double number; int64_t pattern; } both;
    both.pattern = pattern;
    return both.number;
}

RISKCORE_KERNEL double magnitude(double x) { return from_bits(bits(x) & INT64_MAX); }

RISKCORE_KERNEL int64_t size_of(int64_t x) { return x < 0 ? -x : x; }

/* Python's min and max. */
RISKCORE_KERNEL double lesser(double a, double b) { return b < a ? b : a; }
RISKCORE_KERNEL double greater(double a, double b) { return b > a ? b : a; }
RISKCORE_KERNEL int64_t lesser_integer(int64_t a, int64_t b) { return b < a ? b : a; }
RISKCORE_KERNEL int64_t greater_integer(int64_t a, int64_t b) { return b > a ? b : a; }

/* Division rounded down, and its rest, for b > 0. */
RISKCORE_KERNEL int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

RISKCORE_KERNEL int64_t floor_modulo(int64_t a, int64_t b)
{
    return a - floor_divide(a, b) * b;
}

RISKCORE_KERNEL int64_t shift_left(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a << b);
}

RISKCORE_KERNEL int64_t address(const double *pointer) { return (int64_t)(intptr_t)pointer; }

/* A mask of 64 bits, bit i set where codes[first + i] == code. */
RISKCORE_KERNEL int64_t matching(const uint8_t *codes, int64_t first, int64_t code)
{
    uint64_t mask = 0;
    for (int i = 0; i < 64; i++)
        mask |= (uint64_t)(codes[first + i] == code) << i;
    return (int64_t)mask;
}

/* The position of the lowest bit set in a mask that is not 0. */
RISKCORE_KERNEL int64_t lowest(int64_t mask)
{
#ifdef __GNUC__
    return __builtin_ctzll((uint64_t)mask);
#else
    int64_t n = 0;
    for (uint64_t rest = (uint64_t)mask; !(rest & 1); rest >>= 1)
        n++;
    return n;
#endif
}

/* The number of bits set in a mask. */
RISKCORE_KERNEL int64_t size(int64_t mask)
{
    int64_t n = 0;
    for (uint64_t rest = (uint64_t)mask; rest; rest &= rest - 1)
        n++;
    return n;
}

/* --- the floating-point mode ----------------------------------------------------------------- */

/* Kernels need rounding to nearest and subnormal numbers. Where the control register says
   otherwise it is set, and restored afterwards. */
#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
typedef unsigned int Mode;
RISKCORE_KERNEL Mode read_mode(void) { return _mm_getcsr(); }
RISKCORE_KERNEL void write_mode(Mode mode) { _mm_setcsr(mode); }
RISKCORE_KERNEL bool is_usual(Mode mode) { return (mode & 0xFFC0) == 0x1F80; }
RISKCORE_KERNEL Mode usual(Mode mode) { return (mode & ~(Mode)0xFFC0) | 0x1F80; }
#elif defined(__aarch64__) && defined(__GNUC__)
typedef uint64_t Mode;
RISKCORE_KERNEL Mode read_mode(void)
{
    Mode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
RISKCORE_KERNEL void write_mode(Mode mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
RISKCORE_KERNEL bool is_usual(Mode mode) { return mode == 0; }
RISKCORE_KERNEL Mode usual(Mode mode) { return mode & 0; }
#else
typedef int Mode;
RISKCORE_KERNEL Mode read_mode(void) { return 0; }
RISKCORE_KERNEL void write_mode(Mode mode) { (void)mode; }
RISKCORE_KERNEL bool is_usual(Mode mode) { return mode == 0; }
RISKCORE_KERNEL Mode usual(Mode mode) { return mode; }
#endif
'''


class Entry(NamedTuple):
    """A public function."""

    name: str
    about: str
    arguments: list[str]
    results: list[str]
    scalar: Translation
    loop: Translation

    def declarations(self) -> tuple[str, str]:
        """Return the declarations of one cell and of arrays."""
        arguments = ", ".join(f"double {each}" for each in self.arguments)
        if len(self.results) == 1:
            one = f"double riskcore_{self.name}({arguments})"
        else:
            results = ", ".join(f"double *{each}" for each in self.results)
            one = f"void riskcore_{self.name}({arguments}, {results})"
        parts = [f"const double *{each}" for each in self.arguments]
        parts += [f"double *{each}" for each in self.results]
        return one, f"void riskcore_{self.name}_array({', '.join(parts)}, int64_t n)"

    def definitions(self, whole: Whole) -> list[str]:
        """Return the lines of both functions."""
        one, many = self.declarations()
        names = ", ".join(self.arguments)
        given = ", ".join(f"double {each}" for each in self.arguments)
        result = whole.c_type(self.scalar.result)
        body = f"{self.name}_in_mode"
        lines = [
            "",
            *wrapped(f"RISKCORE_CLONES RISKCORE_SHARED {result} {body}({given})"),
            "{",
            f"    return {self.scalar.name}({names});",
            "}",
            "",
            *wrapped(one),
            "{",
            "    const Mode mode = read_mode();",
            "    if (!is_usual(mode))",
            "        write_mode(usual(mode));",
            f"    const {declared(result, 'value')} = {body}({names});",
            "    if (!is_usual(mode))",
            "        write_mode(mode);",
        ]
        if len(self.results) == 1:
            lines.append("    return value;")
        else:
            lines += [
                f"    *{each} = value.{_field(place)};"
                for place, each in enumerate(self.results)
            ]
        arrays = [f"(double *){each}" for each in self.arguments] + self.results
        steps = ", ".join(["8"] * len(arrays))
        kinds = "double **args, int64_t *sizes, int64_t *steps"
        return [
            *lines,
            "}",
            "",
            f"RISKCORE_CLONES RISKCORE_SHARED void {self.name}_arrays_in_mode({kinds})",
            "{",
            f"    {self.loop.name}(args, sizes, steps, 0);",
            "}",
            "",
            *wrapped(many),
            "{",
            *wrapped(f"    double *args[] = {{{', '.join(arrays)}}};"),
            f"    int64_t sizes[] = {{n}}, steps[] = {{{steps}}};",
            "    const Mode mode = read_mode();",
            "    if (!is_usual(mode))",
            "        write_mode(usual(mode));",
            f"    {self.name}_arrays_in_mode(args, sizes, steps);",
            "    if (!is_usual(mode))",
            "        write_mode(mode);",
            "}",
        ]


_LOOP = ("double **", "int64_t *", "int64_t *", "int64_t")


def entries(whole: Whole) -> list[Entry]:
    """Translate the public functions."""
    found = []
    for module, names in NAMES.items():
        for name in names:
            source = ufunc_maker.offered()[f"{module.__name__}.{name}"]
            arguments = list(inspect.signature(source.scalar).parameters)
            doubles = ("double",) * len(arguments)
            scalar = whole.translation(source.scalar, doubles)
            loop = whole.translation(source.loop, _LOOP)
            whole.given_names[id(source.scalar)] = f"{name}_of_one"
            whole.given_names[id(source.loop)] = f"{name}_of_many"
            about = source.doc.strip().partition("\n\n")[0].replace("\n", " ")
            results = ["out"] if source.outputs == 1 else ["lower", "upper"]
            found.append(Entry(name, about, arguments, results, scalar, loop))
    return found


LICENSE = """riskcore {version}: the individual risk of re-identification. BSD-3-Clause, see LICENSE.

   Written by bindings/write_c.py from the kernels in riskcore/core; never edit it."""

HEADER = """
#ifndef RISKCORE_H
#define RISKCORE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A cell has f records in the sample, real, f > 0, and the sampling fraction p, 0 < p <= 1. Outside
   the domain the result is nan. The functions give the same bits as those of Python, on every
   processor. They neither allocate nor raise and have no state, so threads may share them. They
   work in every floating-point mode on x86-64 and arm64; elsewhere it must be the usual one. Flags
   mean nothing after a call. An array has n numbers; a result may replace an argument, and must not
   overlap it otherwise. Compile riskcore.c with the usual options (-O3 is best, never -ffast-math),
   and link with -lm: fma and sqrt are all that is called. */
"""


def texts() -> dict[str, str]:
    """Return the two files, by name."""
    from riskcore import __version__

    whole = Whole()
    public = entries(whole)
    functions = whole.functions([t for e in public for t in (e.scalar, e.loop)])
    definitions = [line for each in public for line in each.definitions(whole)]
    license_ = LICENSE.format(version=__version__)
    header = [f"/* {license_} */", HEADER.strip("\n")]
    for each in public:
        header += ["", *wrapped(f"/* {each.about} */")]
        header += [line for one in each.declarations() for line in wrapped(f"{one};")]
    header += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    code = [
        f"/* {license_} */",
        PRELUDE.rstrip("\n"),
        "",
        *whole.structures(),
        *functions,
        "",
        f"/* --- public functions {'-' * 70} */",
        *definitions,
        "",
    ]
    code.insert(1, '\n#include "riskcore.h"')
    return {"riskcore.h": "\n".join(header), "riskcore.c": "\n".join(code)}


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or compare them with what would be written."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args(arguments)
    stale = 0
    for name, text in texts().items():
        path = FOLDER / name
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        if options.check:
            print(f"{path} is not current: run nox -s c")
        else:
            path.write_text(text)
            print(f"{path}: {len(text.splitlines())} lines")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
