"""The text of a kernel in C: statements, declarations, expressions."""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bindings.c_kernel import (
    NOTHING,
    PRIMITIVES,
    ROOM,
    Translation,
    Type,
    UntranslatableError,
    declared,
    joined,
    kind_of_value,
)
from riskcore.core.compiled import jit

# Names that local variables and functions must not take.
C_NAMES = frozenset(
    """
    abs address auto bits bool break case ceil char const continue cos default div
    do double drem else enum exp expm1 extern fabs false float floor floor_divide
    floor_modulo fma for from_bits gamma goto greater greater_integer if index
    inline int j0 j1 jn lesser lesser_integer lgamma log log1p long lowest magnitude
    pattern_difference pattern_sum
    matching mode pow register remainder restrict return round scalb shift_left
    short signed signgam significand sin size size_of sizeof sqrt static struct
    switch tgamma true trunc typedef union unsigned unused void volatile while y0 y1
    yn
    """.split()  # noqa: SIM905
)


class Text(NamedTuple):
    """An expression in C: its text, its type and how strongly its operator binds."""

    c: str
    kind: Type
    level: int = 15

    def at(self, level: int) -> str:
        """Return the text, in parentheses if its operator binds less than a level."""
        return self.c if self.level >= level else f"({self.c})"

    def as_kind(self, kind: Type) -> Text:
        """Return the text as a double, if it is an integer and is to be one."""
        if kind != "double" or self.kind != "int64_t":
            return self
        if self.c.isdigit():
            return Text(f"{self.c}.0", kind)
        return Text(f"(double){self.at(14)}", kind, 14)


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


class Writer:
    """Writes the body of a translation."""

    def __init__(self, translation: Translation) -> None:
        self.of = translation
        self.whole = translation.whole
        self.values = translation.values
        self.lines: list[str] = []
        self.depth = 1
        self.in_each = False  # inside a loop over cells
        self.before: list[str] | None = []  # what an expression needs first
        self.temporaries = 0
        self.declared: set[str] = set()
        self.comments = dict(translation.comments)
        self.patterns = _patterns(translation.body)
        self.taken = C_NAMES | self.whole.names_used(translation)
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
                    for name in names_in(target):
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
        for name in names_in(node):
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
            for name in dict.fromkeys(names_in(statement))
            if self.home.get(name) == path
            and name not in self.declared
            and name not in own
            and name not in self.of_loops
            and name != "_"
        ]
        by_kind: dict[str, list[str]] = {}
        for name in names:
            kind = self.whole.c_type(self.of.locals[name])
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
            if done & set(names_in(its)):
                return True
            done |= set(names_in(each))
        return False

    def name(self, name: str) -> str:
        """Return the name of a local variable in C."""
        plain = "unused" if name == "_" else name
        return f"{plain}_" if plain in self.taken else plain

    def temporary(self, kind: Type, text: str) -> str:
        """Hold a value in a constant of its own; return its name."""
        if self.before is None:
            raise UntranslatableError(f"{self.of.node.name}: {text} in a branch")
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
            case ast.Return(value=ast.expr() as value):
                text = self.converted(value, self.of.result)
                self.flush()
                self.put(f"return {text};")
            case ast.Return():
                self.put("return;")
            case ast.If(test=test, body=body, orelse=orelse):
                condition = self.expression(test).c
                self.flush()
                self.put(f"if ({condition}) {{")
                self._inside(body, (*path, 0))
                if orelse:
                    self.put("} else {")
                    self._inside(orelse, (*path, 1))
                self.put("}")
            case ast.While(test=test, body=body):
                self.before = None  # what comes first would have to come each time
                self.put(f"while ({self.expression(test).c}) {{")
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
                raise UntranslatableError(ast.dump(statement))

    def _inside(self, body: list[ast.stmt], path: tuple[int, ...]) -> None:
        self.depth += 1
        self.body(body, path)
        self.depth -= 1

    def _in_place(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        assert isinstance(target, ast.Name | ast.Subscript)
        its = self.expression(target)
        text = self.expression(value).as_kind(its.kind)
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
                self._set(target, self.converted(value, self.of.kind(target)), path)
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

    def _set_to(self, target: ast.expr, value: ast.expr, path: tuple[int, ...]) -> None:
        room = self._room(value)
        if room is not None:
            assert isinstance(target, ast.Name)
            kind, size = room
            self.declared.add(target.id)
            self.put(f"{kind} {self.name(target.id)}[{size}];")
            return
        text = self.converted(value, self.of.kind(target))
        self.flush()
        self._set(target, text, path)

    def _room(self, value: ast.expr) -> tuple[str, int] | None:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            called = self.values.get(value.func.id)
            if jit.is_primitive(called):
                return ROOM.get(called.__name__)
        return None

    def _set(self, target: ast.expr, text: str, path: tuple[int, ...]) -> None:
        if isinstance(target, ast.Name):
            name = self.name(target.id)
            if self._is_new(target.id, path):
                self.declared.add(target.id)
                kind = self.whole.c_type(self.of.locals[target.id])
                name = declared(kind, name)
        else:
            name = self.expression(target).c
            assert isinstance(target, ast.Subscript)
            if "uint8_t" in str(self.of.kind(target.value)):
                text = f"(uint8_t)({text})"
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
            part = f"{source}.{field(place)}"
            if isinstance(each, ast.Tuple):
                self._spread(each, kind[place], part, path)
            elif isinstance(each, ast.Name) and self._is_new(each.id, path):
                self.declared.add(each.id)
                new.append((self.of.locals[each.id], self.name(each.id), part))
            elif not (isinstance(each, ast.Name) and each.id == "_"):
                self._set(each, part, path)
        for one in dict.fromkeys(its for its, _, _ in new):
            parts = [f"{name} = {part}" for its, name, part in new if its == one]
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
                    "    " * self.depth + each for each in constant(table, numbers)
                ]
            count = len(numbers) if numbers is not None else count
            self.put(f"for (int64_t place = 0; place < {count}; place++) {{")
            self.depth += 1
            self.put(f"const double {name} = {table}[place];")
            self.depth -= 1
        else:
            self._range(name, it, statement, target.id in self.of_loops)
        outside = self.in_each
        self.in_each |= isinstance(target, ast.Name) and _is_each(statement)
        self._inside(statement.body, (*path, 0))
        self.in_each = outside
        self.put("}")

    def _range(self, name: str, it: ast.expr, statement: ast.For, own: bool) -> None:
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
        elif all(self.of.constant(each) is not None for each in it.args):
            self.put("RISKCORE_UNROLL")
        self.put(f"for ({kind}{name} = {start}; {name} {sign} {end}; {name}{by}) {{")

    def _unrolled(self, it: ast.expr) -> list[Any] | None:
        """Return the constant values that a loop takes one by one."""
        if isinstance(it, ast.Call) and ast.unparse(it.func) == "enumerate":
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
            kind = kind_of_value(value)
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
            raise UntranslatableError(f"{text.c} is {text.kind}, not {kind}")
        return text.as_kind(kind).c

    def expression(self, node: ast.expr) -> Text:
        """Return an expression in C."""
        match node:
            case ast.Name(id=name) if name in self.of.locals:
                return Text(self.name(name), self.of.kind(node))
            case ast.Name(id=name):
                return self._named(name)
            case ast.Constant(value=value):
                text = literal(value)
                return Text(text, kind_of_value(value), 14 if text[0] == "-" else 15)
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
            raise UntranslatableError(ast.dump(node))
        text = literal(value)
        return Text(text, kind_of_value(value), 14 if text[0] == "-" else 15)

    def _named(self, name: str) -> Text:
        value = self.values[name]
        if name not in self.of.function.__globals__:  # of a maker of kernels
            text = literal(value)
            return Text(text, kind_of_value(value), 14 if text[0] == "-" else 15)
        text = self.whole.constant_names[self.whole.constant_key(self.of, name)]
        return Text(text, self.of.kind(ast.Name(name, ast.Load())))

    def _element(self, node: ast.Subscript, value: ast.expr, place: ast.expr) -> Text:
        if self.of.constant(node) is not None:
            return self._value(node)
        kind = self.of.kind(value)
        base = self.expression(value).at(15)
        if isinstance(kind, tuple):
            at = self.of.constant(place)
            return Text(f"{base}.{field(at)}", kind[at])
        return Text(f"{base}[{self.expression(place).c}]", self.of.kind(node))

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Text:
        condition = self.expression(test)
        held, self.before = self.before, None
        one, other = self.expression(body), self.expression(orelse)
        self.before = held
        kind = joined(one.kind, other.kind)
        one, other = one.as_kind(kind), other.as_kind(kind)
        test_text = condition.at(9 if condition.level in (6, 8) else 4)
        return Text(f"{test_text} ? {one.at(4)} : {other.at(4)}", kind, 3)

    def _comparison(self, node: ast.Compare) -> Text:
        sides = [node.left, *node.comparators]
        parts = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            sign, level = _COMPARED[type(op)]
            one, other = self.expression(left), self.expression(right)
            kind = joined(one.kind, other.kind)
            one, other = one.as_kind(kind), other.as_kind(kind)
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
        kind = self.of.kind_of_sum(one.kind, op, other.kind)
        if type(op) in _HELPERS:
            return Text(f"{_HELPERS[type(op)]}({one.c}, {other.c})", "int64_t")
        sign, level = _OPERATORS[type(op)]
        if isinstance(op, ast.Add | ast.Sub) and self.patterns & set(names_in(node)):
            name = "pattern_sum" if isinstance(op, ast.Add) else "pattern_difference"
            if kind == "int64_t":
                return Text(f"{name}({one.c}, {other.c})", kind)
        one, other = one.as_kind(kind), other.as_kind(kind)
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
        if jit.is_primitive(called):
            return self._primitive(called, arguments)
        kinds = tuple(self.of.kinds_of_arguments(arguments))
        translation = self.whole.translation(called, kinds)
        if self.in_each:
            self.whole.hot.append(translation)
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
        return [f"{source}.{field(place)}" for place in range(len(text.kind))]

    def _size(self, node: ast.expr) -> Text:
        text = self.expression(node)
        real = text.kind == "double"
        return Text(f"{'magnitude' if real else 'size_of'}({text.c})", text.kind)

    def _extreme(self, name: str, arguments: list[ast.expr]) -> Text:
        """Write min and max, which differ from C's for nan."""
        one, other = map(self.expression, arguments)
        kind = joined("int64_t", joined(one.kind, other.kind))
        one, other = one.as_kind(kind), other.as_kind(kind)
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


def _patterns(body: list[ast.stmt]) -> set[str]:
    """Return the names of bit patterns, whose sums may pass the end of the integers.

    In a loop over cells they may be those of a nan or of a negative number.
    """
    found = {"bits", "matching"}
    for each in ast.walk(ast.Module(body, [])):
        if isinstance(each, ast.Assign):
            first = next(names_in(each.value), "")
            if first == "matching" or "bits" in names_in(each.value):
                found |= _stored(each)
    return found


def _as_bit(text: Text) -> str:
    """Return an operand of & or |; of a bool that a call returns compilers warn."""
    called = text.kind == "bool" and text.level == 15 and "(" in text.c
    return f"(int){text.c}" if called else text.at(14)


def names_in(node: ast.AST) -> Iterator[str]:
    """Yield the names in a part of the source."""
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
    return (
        statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    )


def field(place: int) -> str:
    """Return the name of a tuple's element."""
    return "abcdefghij"[place]


def wrapped(line: str, width: int = 96) -> list[str]:
    """Return a line cut where it is too long."""
    indent = " " * (len(line) - len(line.lstrip()))
    if line.lstrip().startswith("/*"):
        text = textwrap.wrap(line.strip(), width - len(indent), subsequent_indent="   ")
        return [indent + each for each in text]
    lines = []
    while len(line) > width:
        first = len(indent) + 8
        cut = line.rfind(", ", first, width)
        if cut < width // 2:
            cut = max(line.rfind(mark, first, width) for mark in (", ", " ? ", " : "))
        if cut < 0:
            cut = line.rfind(" ", first, width)
        if cut < 0:
            break
        cut += 1 if line[cut] == "," else 0
        lines.append(line[:cut])
        line = f"{indent}    {line[cut:].lstrip()}"
    return [*lines, line]


def constant(name: str, value: Any) -> list[str]:
    """Return the definition of a constant or a table."""
    if isinstance(value, tuple):
        numbers = ", ".join(map(literal, value))
        return wrapped(f"static const double {name}[] = {{{numbers}}};")
    kind = kind_of_value(value)
    return [f"static const {kind} {name} = {literal(value)};"]
