"""The types of a kernel: of its variables and its result, for given arguments.

A type is "double", "int64_t", "bool", a pointer such as "double *", a table of
constants such as "const double[7]", a tuple of types, or None: nothing, or not known.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import io
import math
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from riskcore.core.compiled import jit

Type = Any

LONGEST = 4  # longer tuples of constants are tables
_SIZES = {"bool": 0, "int64_t": 1, "double": 2}


class UntranslatableError(Exception):
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
    raise UntranslatableError(f"one variable for {a} and {b}")


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
    "number": ("int64_t", 38),
}
NOTHING = {"clear_flags"}  # flags mean nothing after a call


# --- source --------------------------------------------------------------------------


@cache
def _file(path: str) -> tuple[dict[int, ast.FunctionDef], dict[int, str]]:
    """Return the functions of a file by first line, and its comments by line."""
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
    return functions, comments


def _values(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what the free names of a function stand for."""
    found = inspect.getclosurevars(function)
    return {**found.builtins, **found.globals, **found.nonlocals}


def is_constant(value: Any) -> bool:
    """Return whether a value is a number, or a tuple of constants."""
    if isinstance(value, tuple):
        return all(map(is_constant, value))
    return isinstance(value, int | float)


# --- the translation of one function -------------------------------------------------


class Translation:
    """A kernel for arguments of given types; ``whole`` knows all others."""

    def __init__(
        self, whole: Any, function: Callable[..., Any], kinds: tuple[Type, ...]
    ) -> None:
        self.whole, self.function, self.kinds = whole, function, kinds
        path = inspect.getsourcefile(function)
        assert path is not None
        functions, self.comments = _file(path)
        self.node = functions[function.__code__.co_firstlineno]
        self.module = function.__module__
        self.values = _values(function)
        self.parameters = [each.arg for each in self.node.args.args]
        body = self.node.body
        self.doc = ast.get_docstring(self.node) or ""
        self.body = body[1:] if self.doc else body
        self.locals: dict[str, Type] = {}
        self.result: Type = None
        self.name = ""
        self.called: dict[int, Translation] = {}
        self._infer()

    # --- types ---

    def _infer(self) -> None:
        """Find the types of all variables, until nothing changes."""
        for name, kind in zip(self.parameters, self.kinds, strict=True):
            self.locals[name] = kind
        before: Any = None
        while before != (self.locals, self.result):
            before = dict(self.locals), self.result
            self.called.clear()
            self._walk(self.body)
        for name, kind in zip(self.parameters, self.kinds, strict=True):
            if self.locals[name] != kind:
                raise UntranslatableError(f"{self.node.name}: {name} changes its type")

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
                kind = self.kind_of_sum(self.kind(target), op, self.kind(value))
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
            self.locals[name] = joined(self.locals.get(name), kind)

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
                return self.locals[name]
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
                return self.kind_of_sum(self.kind(left), op, self.kind(right))
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
            raise UntranslatableError(ast.dump(node))
        if (
            isinstance(node, ast.Name)
            and isinstance(value, tuple)
            and (len(value) > LONGEST)
        ):
            return f"const double[{len(value)}]"
        return kind_of_value(value)

    def kind_of_sum(self, left: Type, op: ast.operator, right: Type) -> Type:
        """Return the type of an operation on two types."""
        if left is None or right is None:
            return None
        if isinstance(op, ast.Div):
            return "double"
        if isinstance(op, ast.BitAnd | ast.BitOr) and left == right == "bool":
            return "bool"
        return joined("int64_t", joined(left, right))

    def _kind_of_call(self, name: str, arguments: list[ast.expr]) -> Type:
        called = self.values.get(name)
        kinds = self.kinds_of_arguments(arguments)
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
        if jit.is_primitive(called):
            return self.whole.kind_of_primitive(called)
        if any(each is None for each in _flat(kinds)):
            return None
        its = self.whole.translation(called, tuple(kinds))
        self.called[id(its)] = its
        return its.result

    def kinds_of_arguments(self, arguments: list[ast.expr]) -> list[Type]:
        """Return the types of arguments, those with a star spread."""
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
                if not known or not (is_constant(value) or value in (math, len)):
                    return None
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval")
        return eval(code, {**self.values, "__builtins__": builtins})


def _flat(kinds: list[Type]) -> Iterator[Type]:
    for each in kinds:
        if isinstance(each, tuple):
            yield from _flat(list(each))
        else:
            yield each


def kind_of_value(value: Any) -> Type:
    """Return the type of a constant."""
    if isinstance(value, tuple):
        return tuple(map(kind_of_value, value))
    kinds = {bool: "bool", int: "int64_t", float: "double"}
    return kinds[type(value)]
