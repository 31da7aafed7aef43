"""Mutants of a module of kernels: its source with one place changed.

A mutant has one operator, constant, bound or statement changed. Constants change by one
part in ten million, which shows in the last digits only.
"""

import ast
import re
from contextlib import suppress
from dataclasses import dataclass

from bench._common import HERE

ROOT = HERE.parent


@dataclass(frozen=True)
class Mutant:
    """A module with one place changed, and what names that place."""

    module: str
    function: str
    before: str
    after: str
    occurrence: int
    source: str

    @property
    def name(self):
        """Return what stays the same when other lines change."""
        numbered = str(self.occurrence)
        return self.module, self.function, self.before, self.after, numbered


COMPARED = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
COMPUTED = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "*"), ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
}  # fmt: skip
CALLED = {
    "min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum",
    "maximum": "minimum", "floor": "ceil", "ceil": "floor", "first": "last",
}  # fmt: skip


class Places(ast.NodeVisitor):
    """Collect the edits of one module: function, begin, end, new text."""

    def __init__(self, source):
        self.source = source.encode()
        self.lines = [0]
        for line in self.source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.within = []
        self.found = []
        self.visit(ast.parse(source))

    def begin(self, node):
        return self.lines[node.lineno - 1] + node.col_offset

    def end(self, node):
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node):
        return self.source[self.begin(node) : self.end(node)].decode()

    def edit(self, begin, end, text):
        function = ".".join(self.within) or "module"
        self.found.append((function, begin, end, text))

    def replace(self, node, text):
        self.edit(self.begin(node), self.end(node), text)

    def operator(self, left, right, old, new):
        """Replace the operator that stands between two nodes."""
        begin, end = self.end(left), self.begin(right)
        between = self.source[begin:end].decode()
        pattern = r"\s+".join(map(re.escape, old.split()))
        match = re.search(pattern, between)
        if match:
            self.edit(begin + match.start(), begin + match.end(), new)

    # Not changed, as no result depends on it: annotations, docstrings, messages.

    def visit_FunctionDef(self, node):
        arguments = node.args
        self.inside(node, arguments.defaults + [x for x in arguments.kw_defaults if x])

    def visit_ClassDef(self, node):
        self.inside(node, [])

    def inside(self, node, defaults):
        self.within.append(node.name)
        for each in [*defaults, *node.decorator_list, *node.body]:
            self.visit(each)
        self.within.pop()

    def visit_AnnAssign(self, node):
        if node.value:
            self.visit(node.value)
            self.assigned(node, [node.target])

    def visit_JoinedStr(self, node):
        pass

    def visit_If(self, node):
        if "TYPE_CHECKING" not in self.text(node.test):
            self.generic_visit(node)

    # Changed.

    def visit_Assign(self, node):
        self.assigned(node, node.targets)
        self.generic_visit(node)

    def assigned(self, node, targets):
        if isinstance(targets[0], ast.Subscript | ast.Attribute):
            self.replace(node, "pass")

    def visit_AugAssign(self, node):
        self.replace(node, "pass")
        if type(node.op) in COMPUTED:
            old, new = COMPUTED[type(node.op)]
            self.operator(node.target, node.value, f"{old}=", f"{new}=")
        self.generic_visit(node)

    def visit_Raise(self, node):
        self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call):
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Return(self, node):
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
            a, b = node.value.elts[:2]
            between = self.source[self.end(a) : self.begin(b)].decode()
            self.edit(
                self.begin(a), self.end(b), f"{self.text(b)}{between}{self.text(a)}"
            )
        self.generic_visit(node)

    def visit_Compare(self, node):
        values = [node.left, *node.comparators]
        for left, op, right in zip(values, node.ops, values[1:], strict=False):
            self.operator(left, right, *COMPARED[type(op)])
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if type(node.op) in COMPUTED:
            self.operator(node.left, node.right, *COMPUTED[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.operator(left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not | ast.USub):
            self.replace(node, self.text(node.operand))
        self.generic_visit(node)

    def visit_Call(self, node):
        function = node.func
        name = getattr(function, "id", getattr(function, "attr", ""))
        if name in CALLED:
            self.edit(self.end(function) - len(name), self.end(function), CALLED[name])
        if name == "sorted" and all(k.arg != "reverse" for k in node.keywords):
            self.edit(self.end(node) - 1, self.end(node), ", reverse=True)")
        self.generic_visit(node)

    def visit_Slice(self, node):
        for bound in (node.lower, node.upper):
            if bound is not None:
                self.replace(bound, "")
        self.generic_visit(node)

    def visit_Constant(self, node):
        value = node.value
        if isinstance(value, bool):
            self.replace(node, str(not value))
        elif isinstance(value, int):
            self.replace(node, str(value + 1))
        elif isinstance(value, float):
            other = value * 1.0000001 if value else 1.0
            self.replace(node, repr(other))


def mutants(module):
    """Return every mutant of a module, also those that are the same program."""
    source = (ROOT / module).read_text()
    data = source.encode()
    seen, result = {}, []
    for function, begin, end, text in Places(source).found:
        first = data.rfind(b"\n", 0, begin) + 1
        last = data.find(b"\n", end)
        before = data[first:last]
        after = data[first:begin] + text.encode() + data[end:last]
        name = (function, *(" ".join(t.decode().split()) for t in (before, after)))
        seen[name] = seen.get(name, 0) + 1
        other = data[:first] + after + data[last:]
        result.append(Mutant(module, *name, seen[name], other.decode()))
    return result


def another_program(mutant):
    """Return whether a mutant is Python, and not the same program as the module."""
    with suppress(SyntaxError):
        ast.parse(mutant.source)
        return mutant.before != mutant.after
    return False
