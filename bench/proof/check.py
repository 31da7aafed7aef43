"""Check the certificate of the fast paths: Python's standard library and Arb alone.

    python bench/proof/check.py bench/proof/certificate.json

Nothing of the package or of the other files of the proof is imported. The kernels'
source text is executed here with other meanings of fma, two_sum, float and so on: on
numbers that record roundings, on rational functions, and on power series of balls. The
theory is in notes/proof_of_rounding.md, section 12.
"""

import ast
import itertools
import json
import math
import struct
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from flint import Ordering, arb, arb_series, ctx, fmpq, fmpq_mpoly_ctx

ROOT = Path(__file__).resolve().parents[2]
BITS = 80
U = arb(2) ** -53
ONE = fmpq(1)


# --- the source ----------------------------------------------------------------------


class Renewed(ast.NodeTransformer):
    """Insert x, y = renewed(x, y) where kernels compute levels: it changes no value."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        names = {one.arg for one in node.args.args}
        if {"x", "y"} <= names and "x_low" not in names:
            place = 1 if ast.get_docstring(node) else 0
            node.body[place:place] = ast.parse("x, y = renewed(x, y)").body
        return node

    def visit_Assign(self, node):
        call = node.value.func if isinstance(node.value, ast.Call) else None
        name = call.id if isinstance(call, ast.Name) else ""
        words = ast.unparse(node.targets[0]).strip("()").split(", ")
        both = ", ".join(words)
        if name.startswith("_level") and len(words) == 2:
            new = f"{both} = renewed(0.0, ({both}))[1]"
        elif words in (["x", "y"], ["above", "below"], ["X", "Y"], ["x[i]", "y[i]"]):
            new = f"{both} = renewed({both})"
        elif both == "u" and "last" in ast.unparse(node.value):
            new = "u = settled(u, f, p, y, last)"
        else:
            return node
        return [node, *ast.parse(new).body]


class Source:
    """Modules of the package, executed with other meanings of names; see ``__call__``.

    ``wraps`` makes a kernel's replacement from the kernel, by its name.
    """

    def __init__(self, names, wraps=()):
        self.names, self.wraps, self.spaces = names, dict(wraps), {}

    def module(self, dotted):
        if dotted in self.spaces:
            return self.spaces[dotted]
        space = self.spaces[dotted] = {"__name__": dotted}
        path = ROOT / (dotted.replace(".", "/") + ".py")
        tree = Renewed().visit(ast.parse(path.read_text()))
        for node in [*tree.body]:
            if isinstance(node, ast.ImportFrom) and node.module.startswith("riskcore"):
                tree.body.remove(node)
                for name in (one.name for one in node.names):
                    if not node.module.endswith(".jit"):
                        space[name] = self.module(node.module)[name]
                    else:  # marks of kernels; all except ``kernel`` have arguments
                        space[name] = lambda *_: lambda function: function
                        if name == "kernel":
                            space[name] = lambda function: function
        exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), space)
        space.update(self.names)
        for name, wrap in self.wraps.items():
            if name in space and space[name].__module__ == dotted:
                space[name] = wrap(space[name])
        return space

    def __call__(self, name):
        """Return what a module of ``core/special`` calls by a name."""
        module, _, name = name.rpartition(".")
        return self.module("riskcore.core.special." + module)[name]


# --- numbers that record their roundings ---------------------------------------------


class OpenError(Exception):
    """A question has several answers in a box: how many."""


class Node:
    """A computed value: its enclosure, parents with derivatives, and rounding error.

    ``of``: the node whose error, negated, this is. The value is the monomial ``mono``
    of symbols times ``mc``, up to ``dev``. ``made`` has the operation.
    """

    def __init__(self, X, parents, err=None, of=None):
        tape = Tape.now
        self.number = len(tape.nodes) + 1
        tape.nodes.append(self)
        tape.symbols[self.number] = X
        self.X, self.parents, self.err, self.of = X, parents, err, of
        self.mono, self.mc, self.dev, self.made = ((self.number, 1),), ONE, None, {}
        # In a unit of degree 1: a linear form in its two numbers, by Euler's theorem.
        self.linear = self.unit = None
        forms = [(size, p.linear) for p, _, _, size, _ in parents if p.unit]
        if forms and all(form for _, form in forms):
            a, b = (sum((size * x[i] for size, x in forms), arb(0)) for i in (0, 1))
            self.linear = a, b if err is None else b + around(err)


class Tape:
    """The record of a run; ``path`` has the answers to its open questions.

    ``factor``: the ends of a number, symbol 0; others may be its multiples.
    """

    now = None

    def __init__(self, factor=None, path=()):
        Tape.now = self
        self.nodes, self.path, self.asked, self.unit = [], path, 0, None
        self.ends, self.sizes = factor, {(): arb(1)}
        self.symbols = {0: factor and ball(*factor)}

    def choose(self, answers):
        if len(answers) == 1:
            return answers[0]
        n, self.asked = self.asked, self.asked + 1
        if n == len(self.path):
            raise OpenError(len(answers))
        return answers[self.path[n]]

    def size(self, monomial):
        """Return the enclosure of a product of powers of symbols."""
        if monomial not in self.sizes:
            x = arb(1)
            for symbol, power in monomial:
                x *= to_power(self.symbols[symbol], power)
            self.sizes[monomial] = x
        return self.sizes[monomial]

    def evaluate(self, polynomial):
        return sum((self.size(m) * c for m, c in polynomial.items()), arb(0))

    def bound(self, seeds):
        """Return a bound of |computed - exact| of a sum of numbers times monomials.

        That is the sum of errors times slopes. A slope is a polynomial in the values,
        so that what compensates cancels, and a ball, for what is small.
        """
        slopes, effects, lost, collapsed, totals = {}, {}, arb(0), {}, {}
        for number, monomial in seeds:
            push(slopes, number.node, {(): ONE}, arb(0), number.c, monomial)
        for node in reversed(self.nodes):
            main, rest = slopes.pop(node.number, ({}, arb(0)))
            effect, off = effects.pop(node.number, ({}, arb(0)))
            if node.err is not None and (main or effect or rest != 0 or off != 0):
                both = dict(main)
                for monomial, c in effect.items():
                    both[monomial] = both.get(monomial, 0) + c
                both = {k: c for k, c in both.items() if c != 0}
                lost += node.err * abs(self.evaluate(both) + rest + off)
            main = {k: c for k, c in main.items() if c != 0}
            if not main and rest == 0:
                continue
            if node.of is not None:
                push(effects, node.of, main, -rest, -ONE, ())
                continue
            main, rest = self.settled(node, main, rest, collapsed, totals)
            total = self.evaluate(main)
            for parent, c, monomial, size, dev in node.parents:
                if monomial is None:
                    push(slopes, parent, {}, (total + rest) * size, ONE, ())
                else:
                    more = rest * size if dev is None else rest * size + total * dev
                    push(slopes, parent, main, more, c, monomial)
        return lost

    def settled(self, node, main, rest, collapsed, totals):
        """Return a node's slope, as one symbol if it is long or the unit changes."""
        if "divided" not in node.made and len(main) <= MANY:
            return main, rest
        total = self.evaluate(main)
        if "first" in node.made:
            unit = node.made["first"]
            whole = through(unit, totals)
            if "pair" in unit.ratio.node.made:
                total = narrower(total, whole - rest)
            elif not whole.rad() > (total + rest).rad():
                main, rest, total = {((), node.number): ONE}, arb(0), whole
        if "divided" in node.made:
            totals[node.number] = total + rest
        symbol = collapsed.setdefault(frozenset(main.items()), -1 - len(collapsed))
        self.symbols[symbol] = total
        self.sizes.pop(((symbol, 1),), None)
        return {((symbol, 1),): ONE}, rest


MANY = 40


def through(unit, totals):
    """Return the slope of the first number of a unit, if it counts by later units only.

    There it is (a x + b)/(c x + d), and no difference of large numbers is its slope.
    """
    if unit.leaks or any(slope is None for _, slope in unit.children):
        return arb(0, math.inf)
    zero = arb(0)
    return sum((totals.get(n, zero) * slope for n, slope in unit.children), zero)


def times_monomial(one, two):
    if not one or not two:
        return one or two
    powers = dict(one)
    for symbol, power in two:
        powers[symbol] = powers.get(symbol, 0) + power
    return tuple(sorted((s, k) for s, k in powers.items() if k))


def push(slopes, node, main, rest, c, monomial):
    """Add a slope to a node's: a polynomial times a factor, and a ball."""
    into, off = slopes.get(node.number) or ({}, arb(0))
    for one, d in main.items():
        key = times_monomial(one, monomial)
        into[key] = into.get(key, 0) + d * c
    slopes[node.number] = into, off + rest


def top(x):
    """Return the least e with |x| <= 2^e."""
    mantissa, exponent = x.abs_upper().man_exp()
    n = int(mantissa)
    return int(exponent) + n.bit_length() - (n & (n - 1) == 0) if n else -5000


def top_of(x):
    """Return the least e with x <= 2^e, for a rational x >= 0."""
    e = x.numerator.bit_length() - x.denominator.bit_length() - 1
    while Fraction(2) ** e < x:
        e += 1
    return e


def bottom(x):
    """Return an e with |x| >= 2^e."""
    mantissa, exponent = x.abs_lower().man_exp()
    return int(exponent) + int(mantissa).bit_length() - 1 if mantissa else -1074


def to_power(x, n):
    result = arb(1)
    for _ in range(abs(n)):
        result *= x
    return 1 / result if n < 0 else result


def around(size):
    return arb(0, abs(size).abs_upper())


def ball(lower, upper):
    middle, radius = (arb(lower) + upper) / 2, (arb(upper) - lower) / 2
    return arb(middle, abs(radius).abs_upper())


def rational(x):
    return fmpq(*x.as_integer_ratio())


def grid_of(x):
    """Return the g for which a double is an odd multiple of 2^g."""
    above, below = x.as_integer_ratio()
    return (above & -above).bit_length() - below.bit_length()


def is_power(x):
    return math.frexp(abs(x))[0] == 0.5


class Unit:
    """A computed value as a unit, itself a number in another unit or in none."""

    def __init__(self, ratio):
        self.ratio, self.parent, self.first = ratio, ratio.unit, None
        self.known, Tape.now.unit = {}, self
        self.leaks, self.children = False, []  # used elsewhere; numbers of later units
        self.place = self.parent.place + 1 if self.parent else 0
        least, most = self.parent.ends if self.parent else (1, 1)
        self.ends = ratio.X.abs_lower() * least, ratio.X.abs_upper() * most
        if not (self.ends[0] > arb(2) ** -960 and self.ends[1] < arb(2) ** 960):
            raise ValueError("levels that may overflow or underflow")


class Number:
    """c times the value of a node, a double or in units: known by its enclosure.

    The units are the tape's factor to the ``power`` and a ``unit`` to the ``degree``.
    ``low``: of the size of rounding errors. A multiple of 2^grid, if it has no units.
    """

    __slots__ = ("X", "c", "degree", "grid", "low", "node", "power", "unit")

    def __init__(self, node, X, grid, power=0, unit=None, degree=0, low=False, c=ONE):
        self.node, self.X, self.grid, self.c = node, X, grid, c
        self.power, self.low = power, low
        self.unit, self.degree = (unit, degree) if degree else (None, 0)
        node.unit = node.unit or self.unit
        if degree != 1:
            node.linear = None
        for parent, *_ in node.parents:
            if parent.unit not in (None, node.unit) and "divided" not in node.made:
                parent.unit.leaks = True

    def scaled(self):
        return self.power or self.degree

    def units(self):
        return self.power, self.unit, self.degree

    def view(self, c, X=None):
        """Return a multiple that is exact."""
        grid = self.grid + top(arb(c))
        return Number(self.node, self.X * c, grid, self.power, self.unit, self.degree,
                      self.low, self.c * c)  # fmt: skip

    def factor(self, c=ONE, power=1):
        """Return what a derivative is multiplied by: c, monomial, size, deviation."""
        node = self.node
        monomial = None if self.low else tuple((s, k * power) for s, k in node.mono)
        dev = None if node.dev is None else node.dev * self.c * c
        if power != 1 and dev is not None:
            raise ValueError("a power of a reciprocal")
        return (
            c * (self.c * node.mc) ** power,
            monomial,
            to_power(self.X, power) * c,
            dev,
        )

    def to(self, unit):
        """Return this number in a later unit."""
        if not self.degree or self.unit is unit:
            return self
        links = []
        while unit is not self.unit:
            links.append(unit)
            unit = unit.parent
        one = self
        for link in reversed(links):
            if one.degree != 1:
                raise ValueError("a unit of another degree")
            one = divided(one, link)
        return one

    def __neg__(self):
        return self.view(-ONE)

    def __add__(self, other):
        return plus(self, other)

    def __sub__(self, other):
        return plus(self, -other)

    def __rsub__(self, other):
        return plus(-self, other)

    def __mul__(self, other):
        return product(self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other):
        return quotient(self, other)

    def __rtruediv__(self, other):
        return quotient(other, self)

    def _holds(self, other, sign):
        """Return whether sign (self - other) > 0."""
        x = self.X if not self.power else self.X * Tape.now.size(((0, self.power),))
        if self.degree:
            raise ValueError("a comparison that depends on a unit")
        x = (x - (other.X if isinstance(other, Number) else other)) * sign
        return Tape.now.choose(
            [True] if x > 0 else [False] if x <= 0 else [True, False]
        )

    def __gt__(self, other):
        return self._holds(other, 1)

    def __lt__(self, other):
        return self._holds(other, -1)

    def __le__(self, other):
        return not self._holds(other, 1)

    def __ge__(self, other):
        return not self._holds(other, -1)

    def __abs__(self):
        return -self if self < 0.0 else self


def link(number, c=ONE, monomial=(), size=None, dev=None):
    """Return a parent: a number, and what the derivative by it is."""
    c = c * number.c
    size = number.c * size if size is not None else arb(c)
    dev = None if dev is None else dev * number.c
    return number.node, c, monomial, size, dev


def derivative(number, by):
    """Return the parent ``number`` of its product with another one."""
    return link(number, *by.factor())


def smallest(power, unit, degree):
    """Return a lower bound of the units of a number."""
    least, most = unit.ends if degree else (arb(1), arb(1))
    low = Tape.now.ends[0 if power > 0 else 1] if power else 1
    size = to_power(arb(low), power) * to_power(least if degree > 0 else most, degree)
    return size.abs_lower()


def rounded(
    X, parents, grid, power=0, unit=None, degree=0, low=False, lost=False, most=None
):
    """Return a rounded result; ``lost``: it may underflow; ``most``: of its size."""
    if power or degree:
        err = U * X.abs_upper()
        if lost:
            err = err + arb(2) ** -1074 / smallest(power, unit, degree)
        grid = -5000
    else:
        e = top(X) if most is None else top_of(most)
        exact = grid >= -1074 and e <= grid + 53
        err = None if exact else arb(2) ** max(e - 54, -1075)
        grid = max(grid, bottom(X) - 52, -1074)
    X = X if err is None else X + around(err)
    return Number(Node(X, parents, err), X, grid, power, unit, degree, low)


def equal(x, y, c):
    """Return whether x is c y."""
    if isinstance(x, Number) and isinstance(y, Number):
        x, y = together(x, y)
        return x.node is y.node and x.c == y.c * c
    if isinstance(x, Number) or isinstance(y, Number):
        return False
    return rational(x) == rational(y) * c


def together(a, b):
    """Return two numbers in the later one of their units."""
    if a.degree and b.degree and a.unit is not b.unit:
        unit = a.unit if a.unit.place > b.unit.place else b.unit
        return a.to(unit), b.to(unit)
    return a, b


def label(s, lost=None):
    """Return minus the rounding error of a number that was made; ``lost``: more."""
    if s.node.err is None and lost is None:
        return 0.0
    X = around(s.node.err or arb(0))
    X = X if lost is None else X + around(lost)
    node = Node(X, [], lost, s.node)
    node.linear = arb(0), X
    return Number(node, X, -1074, s.power, s.unit, s.degree, True)


def larger(a, b):
    """Return whether |a| >= |b| for sure, for numbers and constants."""
    x, y = ends(a), ends(b)
    if x is None or y is None:
        x, y, _ = aligned(a, b)
        x, y = ((x.abs_lower(), x.abs_upper()) for x, _ in (x, y))
    return x[0] >= y[1]


def ends(x):
    """Return bounds of an absolute value, exact for arguments; None in a unit."""
    if not isinstance(x, Number):
        return abs(arb(x)), abs(arb(x))
    if x.degree:
        return None
    if "ends" in x.node.made:
        return [arb(end) * abs(x.c) for end in x.node.made["ends"]]
    x = absolute(x)
    return x.abs_lower(), x.abs_upper()


def absolute(x):
    if not isinstance(x, Number):
        return arb(x)
    return x.X * Tape.now.size(((0, x.power),))


def aligned(a, b):
    """Return two numbers as (X, factor) in common units, and these."""
    a, b = together(a, b)
    if a.degree != b.degree:
        raise ValueError("a sum that depends on a unit")
    power, found = min(a.power, b.power), []
    for x in (a, b):
        monomial = ((0, x.power - power),) if x.power > power else ()
        size = Tape.now.size(monomial)
        found.append((x.X * size, link(x, ONE, monomial, size)))
    return *found, (power, a.unit, a.degree)


def renewable(x):
    """Return a number of degree 1 in the unit of the last level."""
    return x.to(Tape.now.unit) if isinstance(x, Number) and x.degree == 1 else x


def plus(a, b):
    """Return a + b, rounded; known to be exact where a theorem says so."""
    a, b = renewable(a), renewable(b)
    if not isinstance(b, Number):
        if b == 0.0:
            return a
    elif a.node is b.node:
        if a.c == -b.c:
            return 0.0
        if a.c == b.c:
            return a.view(2 * ONE)
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Number):
            found = recovered(x, y)
            if found is not None:
                return found
    if isinstance(b, Number):
        (x, one), (y, two), units = aligned(a, b)
        X, parents, grid = x + y, [one, two], min(a.grid, b.grid)
        low = a.low and b.low
    else:
        (x, one), units = (absolute(a), None), (0, None, 0)
        if a.degree:
            raise ValueError("a sum that depends on a unit")
        monomial = ((0, a.power),) if a.power else ()
        one = link(a, ONE, monomial, Tape.now.size(monomial))
        X, parents, grid, low = x + arb(b), [one], min(a.grid, grid_of(b)), False
    most = None
    if "ends" in a.node.made and not isinstance(b, Number):  # their sums bound it
        c = Fraction(int(a.c.p), int(a.c.q))
        most = max(abs(Fraction(end) * c + Fraction(b)) for end in a.node.made["ends"])
    result = rounded(X, parents, grid, *units, low, most=most)
    result.node.made["sum"] = a, b
    return result


def fits(s, m, other):
    """Return whether s - m, s = m + other rounded, is a double by its size and grid."""
    if s.scaled():
        return False
    grid = min(s.grid, m.grid if isinstance(m, Number) else grid_of(m))
    return top(ends(other)[1] + (s.node.err or 0)) <= grid + 53


def recovered(x, y):
    """Return x + y where it is exact: by Dekker, by Sterbenz; or None."""
    made = x.node.made
    if "sum" in made and abs(x.c) == 1:
        p, q = made["sum"]
        for m, other in ((p, q), (q, p)):
            if equal(y, m, -x.c) and (larger(m, other) or fits(x, m, other)):
                if not isinstance(m, Number) and abs(m) >= 2.0**40:
                    return rounded_by(other, m) * float(x.c)
                b = other if isinstance(other, Number) else None
                if b is None:
                    return None
                s = Number(x.node, x.node.X, x.grid, x.power, x.unit, x.degree)
                size = Tape.now.size(((0, b.power - x.power),))
                X = b.X * size + around(x.node.err or arb(0))
                parents = [link(s)]
                if isinstance(m, Number):
                    monomial = ((0, m.power - x.power),) if m.power > x.power else ()
                    size = Tape.now.size(monomial)
                    parents.append(link(m.to(x.unit), -ONE, monomial, -size))
                grid = min(b.grid, m.grid if isinstance(m, Number) else grid_of(m))
                node = Node(X, parents)
                node.made["rest"] = s, b
                z = Number(node, X, grid, x.power, x.unit, x.degree, b.low)
                return z.view(x.c)
    if "rest" in made and equal(y, made["rest"][1], -x.c):
        error = label(made["rest"][0])
        return error.view(-x.c) if isinstance(error, Number) else 0.0
    if isinstance(y, Number) and "product" in y.node.made:
        for m, n in (y.node.made["product"], y.node.made["product"][::-1]):
            if isinstance(n, Number) and "quotient" in n.node.made and n.c == 1:
                above, below = n.node.made["quotient"]
                if equal(m, below, ONE) and equal(x, above, -y.c):
                    (X, one), (_, two), units = aligned(x, y)
                    X = around(2.1 * U * X)
                    grid = min(x.grid, y.grid)
                    return Number(Node(X, [one, two]), X, grid, *units, True)
    return None


def rounded_by(x, large):
    """Return x rounded by adding a large constant and subtracting it: a constant."""
    lower, upper = (float(end) for end in (absolute(x).lower(), absolute(x).upper()))
    ends = [(end + large) - large for end in (lower, upper)]
    step = math.ulp(large)
    count = int((ends[1] - ends[0]) / step)
    if count > 2:
        raise ValueError("a box that is rounded to many numbers")
    return Tape.now.choose([ends[0] + i * step for i in range(count + 1)])


def product(a, b):
    """Return a b, rounded."""
    a, b = renewable(a), renewable(b)
    if not isinstance(b, Number):
        if b == 0.0:
            return 0.0
        safe = abs(b) >= 1.0 or (not a.scaled() and a.grid + grid_of(b) >= -1074)
        if is_power(b) and safe:
            return a.view(rational(b))
        c = rational(b)
        grid = a.grid + grid_of(b)
        parents = [link(a, c, (), arb(b))]
        units = a.power, a.unit, a.degree
        result = rounded(a.X * b, parents, grid, *units, a.low, True)
    else:
        a, b = together(a, b)
        units = a.power + b.power, a.unit or b.unit, a.degree + b.degree
        parents = [derivative(a, b), derivative(b, a)]
        low = a.low or b.low
        result = rounded(a.X * b.X, parents, a.grid + b.grid, *units, low, True)
        for x, y in ((a, b), (b, a)):
            if "inverse" in y.node.made and y.c == 1:
                result.node.made["quotient"] = x, y.node.made["inverse"]
    result.node.made["product"] = a, b
    return result


def quotient(a, b):
    """Return a/b, rounded."""
    a, b = renewable(a), renewable(b)
    if not isinstance(b, Number):
        if is_power(b):
            return a * (1.0 / b)
        result = rounded(a.X / b, [link(a, 1 / rational(b), (), 1 / arb(b))], -5000,
                         a.power, a.unit, a.degree, a.low, True)  # fmt: skip
        result.node.made["quotient"] = a, b
        return result
    if isinstance(a, Number):
        a, b = together(a, b)
        parents = [link(a, *b.factor(ONE, -1))]
        c, monomial, size, _ = a.factor(-ONE)
        d, more, by, _ = b.factor(ONE, -2)
        monomial = None if monomial is None else times_monomial(monomial, more)
        parents.append(link(b, c * d, monomial, size * by))
        units = a.power - b.power, a.unit or b.unit, a.degree - b.degree
        result = rounded(a.X / b.X, parents, -5000, *units, a.low, True)
    else:
        c, monomial, size, _ = b.factor(-rational(a), -2)
        parents, units = [link(b, c, monomial, size)], (-b.power, b.unit, -b.degree)
        result = rounded(arb(a) / b.X, parents, -5000, *units, False, True)
        node = result.node
        if a == 1.0:
            node.made["inverse"] = b
            d, node.mono, _, _ = b.factor(ONE, -1)
            node.mc, node.dev = d, around(node.err)
    result.node.made["quotient"] = a, b
    return result


def divided(a, unit):
    """Return a number of degree 1 in the next unit, exactly."""
    if a.node not in unit.known:
        whole = Number(a.node, a.X / a.c, -5000, a.power, a.unit, a.degree, a.low)
        unit.known[a.node] = _divided(whole, unit)
    return unit.known[a.node].view(a.c)


def _divided(a, unit):
    ratio = unit.ratio
    parents = [link(a, *ratio.factor(ONE, -1))]
    c, monomial, size, _ = a.factor(-ONE)
    d, more, by, _ = ratio.factor(ONE, -2)
    monomial = None if monomial is None else times_monomial(monomial, more)
    parents.append(link(ratio, c * d, monomial, size * by))
    X, slope = a.X / ratio.X, None
    first, second = ratio.node.made.get("pair", (None, None))
    if a.node is first:
        X = 1 - second.X / ratio.X
    if ratio.node.linear and a.node.linear and unit.parent.first is not None:
        # (a x + b)/(c x + d) lies between its values at the ends of x.
        x = unit.parent.first
        (p, q), (r, s) = a.node.linear, ratio.node.linear
        ends = [(p * end + q) / (r * end + s) for end in (x.lower(), x.upper())]
        pole = r * x + s
        if not pole.contains(0) and all(end.is_finite() for end in ends):
            X = narrower(X, ends[0].union(ends[1]) * (a.c / ratio.c))
            if a.node is first:  # 1 less the second word
                p, q = (-second.c * x for x in second.node.linear or (0, second.X))
            slope = (p * s - q * r) / (pole * pole) * (a.c / ratio.c)
    node = Node(X, parents)
    node.made["divided"] = True
    if unit.parent:
        unit.parent.children.append((node.number, slope))
    result = Number(node, X, -5000, a.power, unit, 1, a.low)
    result.node.linear = arb(0), X
    if unit.first is None and not a.low and a.node is not first:
        unit.first, result.node.linear = X, (arb(1), arb(0))
        node.made["first"] = unit
    return result


def narrower(x, y):
    """Return the narrower of two enclosures of one value."""
    return x if x.is_finite() and not x.rad() > y.rad() else y


def renewed(x, y):
    """Return two numbers, or pairs, in units of the second one.

    The unit of a pair is its exact sum: what its words lose by rounding, the second
    word being the first one's error, is not lost in the unit.
    """
    head, low = y if isinstance(y, tuple) else (y, 0.0)
    if head == 1.0 and not isinstance(head, Number):
        head = Number(Node(arb(1), []), arb(1), -5000)
    if not isinstance(head, Number) or head.power or head.degree not in (0, 1):
        return x, y
    if head.node.made.get("one", 0) is Tape.now.unit:
        return x, y

    def turned(number):
        if not isinstance(number, Number):
            if number == 0.0:
                return number
            raise ValueError("a constant among levels")
        return number.to(unit) if number.degree else divided(number, unit)

    if isinstance(low, Number):
        node = Node(head.X + low.X, [link(head), link(low)])
        node.made["pair"] = head.node, low
        unit = Unit(Number(node, node.X, -5000, 0, head.unit, head.degree))
        head, low = turned(head), turned(low)
    else:
        unit, node = Unit(head), Node(arb(1), [])
        node.mono, node.linear = (), (arb(0), arb(1))
        node.made["one"] = unit
        head = Number(node, arb(1), -5000, 0, unit, 1)
    x = tuple(map(turned, x)) if isinstance(x, tuple) else turned(x)
    return x, (head, low) if isinstance(y, tuple) else head


LEVELS = {2: 17, 3: 35}  # of the fraction, by ``last``: those of ``by_fraction``


def settled(u, f, p, y, last):
    """Return u, the computed k X y of a level, in a narrower enclosure.

    X lies between what levels make of tails at the ends; that u is k X y in exact
    arithmetic is proved with the formula.
    """
    low, high = (edge(f, 0), edge(p, 0)), (edge(f, 1), edge(p, 1))
    x, z = tail(high[0], low[1], LEVELS[last]), tail(low[0], high[1], LEVELS[last])
    for n in range(LEVELS[last] - 1, 2 * last - 1, -1):
        x = level(x, n, high[0], low[1]).lower()
        z = level(z, n, low[0], high[1]).upper()
    lost = Tape.now.bound([(u, ())]).abs_upper()
    X = ball((1 + last) * x.lower() - lost, (1 + last) * z.upper() + lost)
    node = Node(u.X.intersection(X), [link(u)])
    node.unit, node.linear = u.unit, (arb(0), node.X)
    return Number(node, node.X, -5000, u.power, u.unit, u.degree)


def edge(x, i):
    """Return the lower or the upper end of an argument."""
    return arb(x.node.made["ends"][i] if isinstance(x, Number) else x)


def fma(a, b, c):
    """Return a b + c, rounded once."""
    a, b, c = map(renewable, (a, b, c))
    numbers = [x for x in (a, b, c) if isinstance(x, Number)]
    if not numbers:
        return float(Fraction(a) * Fraction(b) + Fraction(c))
    if not isinstance(a, Number):
        a, b = b, a
    if not isinstance(a, Number):  # two constants
        X, grid = (
            c.X + arb(a) * arb(b),
            min(c.grid, grid_of(a or 1.0) + grid_of(b or 1.0)),
        )
        return rounded(X, [link(c)], grid, *c.units()) if a and b else c
    if not isinstance(c, Number) and c == 0.0:
        return a * b
    if not isinstance(b, Number) and (b == 0.0 or is_power(b)):
        return a * b + c if b != 0.0 else c
    found = known(a, b, c)
    if isinstance(found, Number | float):
        return found
    if isinstance(b, Number):
        a, b = together(a, b)
        units = a.power + b.power, a.unit or b.unit, a.degree + b.degree
        parents = [derivative(a, b), derivative(b, a)]
        X, grid, low = a.X * b.X, a.grid + b.grid, a.low or b.low
    else:
        units, parents = (a.power, a.unit, a.degree), [link(a, rational(b), (), arb(b))]
        X, grid, low = a.X * b, a.grid + grid_of(b), a.low
    # The sum, with the product as a number of its own.
    inner = Number(Node(X, parents), X, grid, *units, low)
    if isinstance(c, Number):
        (x, one), (y, two), units = aligned(inner, c)
        total, parents, low = x + y, [one, two], low and c.low
        grid = min(grid, c.grid)
    else:
        monomial = ((0, inner.power),) if inner.power else ()
        size = Tape.now.size(monomial)
        total, parents = X * size + arb(c), [link(inner, ONE, monomial, size)]
        units, grid, low = (0, None, 0), min(grid, grid_of(c)), False
    return rounded(found if found is not None else total, parents, grid, *units,
                   low or found is not None, True)  # fmt: skip


def known(a, b, c):
    """Return minus a product's error, the size of a division's rest, or None."""
    if isinstance(c, Number) and "product" in c.node.made:
        p, q = c.node.made["product"]
        for one, two in ((p, q), (q, p)):
            if isinstance(one, Number) and a.node is one.node and (
                equal(b, two, ONE) or equal(b, two, -ONE)
            ):  # fmt: skip
                sign = a.c / one.c * (ONE if equal(b, two, ONE) else -ONE)
                if sign == -c.c and c.node.err is None:
                    return 0.0
                if sign == -c.c:
                    return label_of_product(c, a, b).view(-c.c)
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Number) and "quotient" in x.node.made:
            above, below = x.node.made["quotient"]
            for sign in (ONE, -ONE):
                if equal(y, below, sign) and equal(c, above, -sign * x.c):
                    size = above.X if isinstance(above, Number) else arb(above)
                    return around(2.01 * U * size * x.c)
    return None


def label_of_product(s, a, b):
    """Return minus the error of a product, and what that loses by underflow."""
    exact = a.grid + (b.grid if isinstance(b, Number) else grid_of(b))
    s = Number(s.node, s.node.X, s.grid, s.power, s.unit, s.degree)
    if exact >= -1074:
        return label(s)
    return label(s, arb(2) ** -1074 / smallest(s.power, s.unit, s.degree))


def two_sum(a, b):
    s = a + b
    if not isinstance(s, Number):
        if isinstance(a, Number) or isinstance(b, Number):
            return s, 0.0
        return s, float(Fraction(a) + Fraction(b) - Fraction(s))
    made = s.node.made.get("sum", (None, None))
    fresh = any(x is a for x in made) and any(x is b for x in made)
    return s, label(s) if fresh and s.c == 1 else 0.0


def fast_two_sum(a, b):
    if not isinstance(a, Number) and a == 0.0:
        return b, 0.0
    s, low = two_sum(a, b)
    if not isinstance(low, Number) or larger(a, b):
        return s, low
    if s.degree:
        x, y, _ = aligned(a, b)
        x, y = x[0], y[0]
    else:
        x, y = absolute(a), absolute(b)
    if x * y <= 0 and 2 * x.abs_lower() >= y.abs_upper():
        return s, low
    lost = 2 * U * y.abs_upper() / smallest(s.power, None, 0)
    return s, label(s, lost.abs_upper())


def two_product(a, b):
    s = a * b
    if not isinstance(s, Number):
        return s, fma(a, b, -s)
    fresh = s.node.made.get("product", (None,))[0] is not None and s.c == 1
    if not fresh or s.node.err is None or not any(
        x is a or x is b for x in s.node.made["product"]
    ):  # fmt: skip
        return s, 0.0
    return s, label_of_product(s, *(s.node.made["product"]))


# --- bits and whole numbers ----------------------------------------------------------


class Pattern:
    """The bits of a number, less those of a constant: (x) - (c); shifted, k."""

    def __init__(self, x, constant=None, k=None):
        self.x, self.constant, self.k = x, constant, k

    def __sub__(self, other):
        if isinstance(other, Pattern):
            return Pattern(self.x, other.constant, other.k)
        return Pattern(self.x, from_bits(other))

    def __rshift__(self, places):
        """Return k with c 2^k <= x < c 2^(k+1), for bits are ordered as doubles are."""
        if places != 52:
            raise ValueError("not the exponent of a number")
        if "parts" in self.x.node.made:
            _, k = self.x.node.made["parts"]
        else:
            size = absolute(self.x) / self.constant
            first, last = (math.floor(math.log2(float(end))) for end in (
                size.lower(), size.upper()))  # fmt: skip
            k = Tape.now.choose(list(range(first, last + 1)))
            k = k, k
        return Pattern(self.x, self.constant, k)

    def __lshift__(self, places):
        return self


def bits(x):
    if isinstance(x, Number):
        return Pattern(x)
    return struct.unpack("<q", struct.pack("<d", x))[0]


def from_bits(pattern):
    """Return the double of a pattern: z = x 2^-k between c and 2 c."""
    if not isinstance(pattern, Pattern):
        return struct.unpack("<d", struct.pack("<q", pattern))[0]
    x, c, (first, _) = pattern.x, pattern.constant, pattern.k
    whole = ball(c, 2 * c)
    if "parts" in x.node.made:
        lower, upper = x.node.made["parts"][0]
        if not (lower >= c and upper < 2 * c):
            raise ValueError("another mantissa")
        z = ball(lower, upper)
    else:
        z = whole.intersection(absolute(x) * arb(2) ** -first)
    tape = Tape.now
    symbol = -1000 - len(tape.symbols)
    tape.symbols[symbol] = z / x.X
    node = Node(z, [link(x, ONE, ((symbol, 1),), z / x.X)])
    return Number(node, z, max(bottom(z) - 52, -1074))


def real(x):
    if not isinstance(x, Pattern):
        return x if isinstance(x, Number | Exact) else float(x)
    first, last = x.k
    if first == last:
        return float(first)
    k = ball(first, last)
    return Number(Node(k, []), k, 0)


real.fromhex = float.fromhex


NAMES = {
    "fma": fma, "two_sum": two_sum, "fast_two_sum": fast_two_sum,
    "two_product": two_product, "bits": bits, "from_bits": from_bits, "float": real,
    "renewed": renewed, "settled": settled,
}  # fmt: skip


def charged(number, error):
    """Return a number that may be off by more than what was computed."""
    X = number.X + around(error)
    node = Node(X, [link(number)], error.abs_upper())
    return Number(node, X, number.grid, number.power, number.unit, number.degree)


def entry(lower, upper):
    """Return an argument: any double between two."""
    X = ball(lower, upper)
    node = Node(X, [])
    node.made["ends"] = lower, upper
    return Number(node, X, max(math.frexp(lower)[1] - 53, -1074))


def multiple(lower, upper, parts=None):
    """Return the factor as an argument; ``parts``: its mantissa's ends, exponent's."""
    node = Node(arb(1), [])
    node.mono = ()
    node.made["ends"] = lower, upper
    if parts:
        node.made["parts"] = parts
    return Number(node, arb(1), -5000, power=1)


# --- exact arithmetic: rational functions, and power series --------------------------


class Exact:
    """A rational function, a quotient of polynomials; or a power series of balls.

    Comparisons are answered by a ``sample``, or by the ``ends`` of the variable.
    """

    def __init__(self, above, below=None, sample=None, ends=None):
        self.above, self.below = above, below
        self.sample, self.ends = sample, ends

    def made(self, other):
        """Return another number in this arithmetic."""
        if isinstance(other, Exact):
            return other
        if self.below is None:
            other = arb(other.numerator) / other.denominator if isinstance(
                other, Fraction) else other  # fmt: skip
            return Exact(arb_series([arb(other)]))
        value = rational(other)
        return Exact(self.above * 0 + value, self.below * 0 + 1, Fraction(other))

    def __add__(self, other):
        if isinstance(other, float) and other >= 2.0**40:  # to round
            if self.ends[0] + other != self.ends[1] + other:
                raise ValueError("a piece that is rounded to two numbers")
            return self.ends[0] + other
        other = self.made(other)
        if self.below is None:
            return Exact(self.above + other.above)
        if self.above == 0 or other.above == 0:
            return other if self.above == 0 else self
        if self.below == other.below:
            return Exact(self.above + other.above, self.below)
        above = self.above * other.below + other.above * self.below
        return Exact(above, self.below * other.below)

    def __mul__(self, other):
        other = self.made(other)
        below = None if self.below is None else self.below * other.below
        return Exact(self.above * other.above, below)

    def __truediv__(self, other):
        other = self.made(other)
        if self.below is None:
            return Exact(self.above / other.above)
        return Exact(self.above * other.below, self.below * other.above)

    def __neg__(self):
        return Exact(-self.above, self.below)

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return self.made(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other):
        lower, upper = self.ends or (self.sample, self.sample)
        if (lower < other) != (upper < other):
            raise ValueError("a piece with both answers")
        return lower < other

    def __gt__(self, other):
        return not self < other and (self.ends or [self.sample])[0] != other


def same(one, other):
    """Raise unless two rational functions are one."""
    if one.above * other.below != other.above * one.below:
        raise ValueError("the kernel is not its formula")


def exactly(a, b):
    return a + b, 0.0


class Power:
    """Bits of x 2^k, and k: what is left of them in exact arithmetic."""

    def __init__(self, k, x):
        self.k, self.x = k, x

    def __sub__(self, other):
        return self

    __add__ = __rshift__ = __lshift__ = __sub__


def in_exact(wraps=(), k=0, like=None):
    """Return the source in exact arithmetic, the logarithm's exponent being k."""

    def number(x):
        if like and isinstance(x, int):
            return like.made(x)
        return x.k if isinstance(x, Power) else real(x)

    number.fromhex = float.fromhex
    return Source({
        "fma": lambda a, b, c: a * b + c, "two_sum": exactly, "fast_two_sum": exactly,
        "two_product": lambda a, b: (a * b, 0.0), "bits": lambda x: Power(k, x),
        "from_bits": lambda x: x.x if isinstance(x, Power) else from_bits(x),
        "float": number,
        "renewed": lambda x, y: (x, y), "settled": settled_exactly,
    }, wraps)  # fmt: skip


def settled_exactly(u, f, p, y, last):
    """Raise unless u is k X y, see ``settled``."""
    levels = LEVELS[last]
    k, b = 1.0 + levels // 2, f + float(levels // 2)
    above, below = fraction(f, p, levels, b * p, b - k * (1.0 - p), 2 * last)[0]
    same(u * below, above * y * (1.0 + last))
    return u


def generators(*names):
    ctx_ = fmpq_mpoly_ctx.get(names, Ordering.lex)
    one = ctx_.gens()[0] * 0 + 1
    return [Exact(x, one, Fraction(7, 3)) for x in ctx_.gens()]


ORDER = 20


def left_out(run, truth, lower, upper):
    """Return a bound of |run - truth| for x in a piece: by series of 20 terms.

    The next coefficient over all of the piece bounds the rest (Lagrange).
    """
    ctx.prec, ctx.cap = 300, ORDER + 1
    middle, total, power = (arb(lower) + upper) / 2, arb(0), arb(1)
    radius = abs((arb(upper) - lower) / 2).upper()
    over = arb_series([arb(middle.mid(), radius), 1])
    at = arb_series([middle, 1])
    ends = lower, upper
    rest = run(Exact(over, ends=ends)).above, truth(over)
    difference = run(Exact(at, ends=ends)).above - truth(at)
    for j in range(ORDER):
        total += abs(difference[j]) * power
        power *= radius
    total += (abs(rest[0][ORDER]) + abs(rest[1][ORDER])) * power
    ctx.prec = BITS
    return total.abs_upper()


def pieces(*cuts, n=8):
    """Return pieces between doubles: each n equal ones."""
    for low, high in itertools.pairwise(cuts):
        ends = [low + (high - low) * i / n for i in range(n)] + [high]
        yield from itertools.pairwise(ends)


LOG, PAIR = "elementary.log_pair", "gauss.risk_blocks._pair"
FIRST = 11 / 16  # of the logarithm's mantissas
CENTERS = [FIRST, 7 / 8, math.nextafter(9 / 8, 2), 2 * FIRST]


def log_left_out():
    """Return what log_pair leaves out; linear in the exponent, it is at one end."""
    found, kernels = arb(0), {k: in_exact(k=arb(k))(LOG) for k in (0, -960)}
    for lower, upper in pieces(*CENTERS):
        for k, kernel in kernels.items():
            found = found.max(left_out(
                lambda x, kernel=kernel: sum(kernel(x), 0.0),
                lambda x, k=k: x.log() + k * arb.const_log2(),
                lower, math.nextafter(upper, 0.0)))  # fmt: skip
    return found


# --- what the fraction's end leaves out ----------------------------------------------


def level(x, n, f, p):
    """Return X_n from X_n+1 = x (notes/rounding_proof.md, section 4)."""
    k, b = 1 + (n + 1) // 2, f + n // 2
    return (p * b + k * x) / (b + k * x)


def tail(f, p, levels):
    k, b = 1 + levels // 2, f + levels // 2
    return b * p / (b - k * (1 - p))


def cut(f, p, levels, last, start):
    """Return a lower bound of X_last, and of its error by a tail cut at ``levels``.

    ``f`` and ``p`` are ends. The true tail lies between what 400 more levels make of p
    and of 1. A level rises with p, falls with b, and shrinks by q k b/(b + k X)^2;
    ``start``, the kernel's tail of f and p, rises with p and falls with f.
    """
    (f_low, f_high), (p_low, p_high) = (map(arb, x) for x in (f, p))
    least, most = p_low, arb(1)
    for n in range(levels + 400, levels - 1, -1):
        least = level(least, n, f_high, p_low).lower()
        most = level(most, n, f_low, p_high).upper()
    low, high = start(f_high, p_low), start(f_low, p_high)
    error = abs(most - low).max(abs(high - least)).abs_upper()
    x = low.min(least)
    for n in range(levels - 1, last - 1, -1):
        k, b = 1 + (n + 1) // 2, ball(f_low + n // 2, f_high + n // 2)
        error = (error * (1 - p_low) * k * b / (b + k * x) ** 2).abs_upper()
        x = level(x, n, f_high, p_low).lower()
    return x, error


# --- formulas ------------------------------------------------------------------------


def by_logarithm(code, n):
    """Raise unless r(1) = -v log p, r(m+1) = v (1/m - r(m)), and r(n) is returned."""
    p, log = generators("p", "log")
    wraps = {"log_pair": lambda _: lambda x: (log, log.made(0.0))}
    high, low, _ = in_exact(wraps, like=p)(PAIR)(code, float(n), p)
    v = p / (1.0 - p)
    r = -(v * log)
    for m in range(1, n):
        r = v * (p.made(Fraction(1, m)) - r)
    same(high + low, r)


def fraction(f, p, levels, x, y, last=0):
    """Return X_last and the one before from x/y, each as two polynomials."""
    before = x, y
    for n in range(levels - 1, last - 1, -1):
        before = x, y
        k, b = 1.0 + (n + 1) // 2, f + float(n // 2)
        x, y = p * b * y + k * x, b * y + k * x
    return (x, y), before


def by_fraction(code, levels):
    """Raise unless r = p/(f - 1 + X_0) with the tail b p/(b - k q)."""
    f, p = generators("f", "p")
    high, low, _ = in_exact()(PAIR)(code, f, p)
    k, b = 1.0 + levels // 2, f + float(levels // 2)
    (x, y), _ = fraction(f, p, levels, b * p, b - k * (1.0 - p))
    same(high + low, p * y / ((f - 1.0) * y + x))


def backwards(code, sample, levels=39):
    """Raise unless r = p/(f-1+w), or (p f + w)/(f (f + w)) below 1, w = p + q E."""
    f, p = generators("f", "p")
    f.sample = sample
    high, low, _ = in_exact()(PAIR)(code, f, p)
    g = f + 1.0 if sample < 1 else f
    _, (x, y) = fraction(g, p, levels, p, p.made(1.0))
    w, below = p * (g * y + x) + (1.0 - p) * x, g * y + x
    wanted = p * below / ((f - 1.0) * below + w)
    if sample < 1:
        wanted = (p * f * below + w) / (f * (f * below + w))
    same(high + low, wanted)


def near_one_truth(n):
    """Return r(n, p) as a series: closed forms in z = q/(1 + p), log p = -2 atanh z."""
    z, a = generators("z", "a")  # atanh z = z + z^3 a
    v, m = (1.0 - z) / (2.0 * z), 1.0 - z
    r = [v * (2.0 * (z + z * z * z * a))]
    r += [v * (1.0 - r[0])]
    r += [v * (0.5 - r[1])]
    for one, two in zip(r, (m * (1.0 + z * z * a), m * 0.5 * (1.0 - z * m * a),
                            m * 0.25 * (1.0 + m * m * a)), strict=True):  # fmt: skip
        same(one, two)

    def truth(p):
        z = (1 - p) / (1 + p)
        m, a = 1 - z, z * 0
        for j in range(90, -1, -1):  # what follows is below 2^-500
            a = a * z * z + arb(1) / (2 * j + 3)
        form = (1 + z * z * a, (1 - z * m * a) / 2, (1 + m * m * a) / 4)
        return m * form[n - 1]

    return truth


# --- boxes ---------------------------------------------------------------------------


def before(x):
    return math.nextafter(x, -math.inf)


def after(x):
    return math.nextafter(x, math.inf)


def runs(program, factor=None):
    """Run a program for each path of answers; yield its results."""
    paths = [()]
    while paths:
        path = paths.pop()
        Tape(factor, path)
        try:
            yield program()
        except OpenError as question:
            paths += [(*path, i) for i in range(question.args[0])]


def share(program, factor, left, least):
    """Return the largest bound relative to the bound claimed, over all paths.

    ``program()`` returns high, low, error. ``left``: what the formula leaves out, in
    the factor's unit; ``least``: a lower bound of r, in that unit.
    """
    worst = 0.0
    for words in runs(program, factor):
        power = min(x.power for x in words)
        sizes = [Tape.now.size(((0, x.power - power),)) for x in words]
        seeds = [(x, ((0, x.power - power),) if x.power > power else ()) for x in words]
        low, error = (
            abs(x.X * size) for x, size in zip(words[1:], sizes[1:], strict=True)
        )
        lost = Tape.now.bound(seeds[:2]) + left
        smallest = error.abs_lower()
        made = words[2].node.made.get("product", (None, None))
        if made[0] is words[0] and isinstance(
            made[1], float
        ):  # a multiple of the first word
            r = arb(made[1]) * (least - low.abs_upper() - lost.abs_upper())
            smallest = smallest.max(r.lower())
        needed = (lost + 4 * U * (low + error)) * (1 + arb(2) ** -30)
        found = needed.abs_upper() / smallest
        if not found < 2**60:
            return math.inf
        worst = max(worst, float(found.upper()))
    return worst


class Box:
    """Doubles f and p between ends; or p = z 2^k for z and k between ends."""

    def __init__(self, f, p, k=None):
        self.f, self.p, self.k = f, p, k

    def split(self, axis):
        """Return two boxes, which have all doubles of this one."""
        lower, upper = getattr(self, axis)
        parts = []
        if axis == "k":
            middle = (lower + upper) // 2 if upper > -8 else -math.isqrt(lower * upper)
            middle = min(max(middle, lower), upper - 1)
            ends = (lower, middle), (middle + 1, upper)
        else:
            about = 1 if axis == "p" and lower >= 0.5 and not self.k else 0
            middle = halfway(lower, upper, about)
            ends = (lower, middle), (after(middle), upper)
        for one in ends:
            if one[0] > one[1]:
                raise ValueError("a box that cannot be split")
            parts.append(Box(**{**vars(self), axis: one}))
        return parts


def halfway(lower, upper, about):
    """Return a double between two: in the middle, or of their distances' sizes."""
    near, far = sorted((abs(lower - about), abs(upper - about)))
    if far <= 4 * near:
        middle = lower + (upper - lower) / 2
    else:
        distance = max(math.sqrt(near) * math.sqrt(far), far / 256)
        middle = about + math.copysign(distance, lower + upper - 2 * about)
    return min(max(middle, lower), before(upper))


class Claim(NamedTuple):
    """A region's boxes before any is split, and what is left out in one of them."""

    code: int
    f: tuple
    roots: list
    left: Callable
    of: str = "p"  # where boxes are wide, what r is relative to


def box_share(kernel, claim, box):
    """Return the largest bound in a box relative to what is claimed."""
    (f_low, f_high), (low, high) = box.f, box.p
    parts = None
    if box.k:
        parts = box.p, box.k
        low, high = low * 2.0 ** box.k[0], high * 2.0 ** box.k[1]
    wide = "f" if claim.of == "f" else "p" if box.k or high > 2 * low else ""
    factor = {"f": (f_low, f_high), "p": (low, high)}.get(wide)

    def program():
        f, p = f_low, multiple(low, high, parts) if wide == "p" else entry(low, high)
        if f_low < f_high:
            f = multiple(f_low, f_high) if wide == "f" else entry(f_low, f_high)
        return kernel(claim.code, f, p)

    f, p = arb(f_high), arb(low)
    least = (f + 1) / (f * (f + p)) * (p if wide != "p" else 1)  # r/p is above this
    most = 1 / (arb(f_low) - 1 + low if f_low > 1.0 else arb(f_low) * low)  # and below
    if wide == "f":
        least, most = least * 0, arb(1)  # of r f
    left = claim.left((f_low, f_high), (low, high), most * (1 if wide else high))
    return share(program, factor, left, least)


# --- the claims ----------------------------------------------------------------------


def claims(codes):  # noqa: C901
    """Yield every claim by its name; raise unless kernels are their formulas.

    ``codes``: the source of fast_integer, which has the regions' numbers and borders.
    """
    names = "RARE", "P_NEAR_ONE", "P_HALF", "P_FORWARD", "F_HUGE", "F_BACKWARD"
    rare, near, half, forward, huge, back = (
        codes("gauss.fast_integer." + name) for name in names
    )

    def code(name):
        return codes("gauss.fast_integer." + name)

    def nothing(f, p, most):
        return arb(0)

    def binades(upper):
        """Return boxes of z 2^k between the smallest p and ``upper``."""
        mantissas = [(a, before(b)) for a, b in itertools.pairwise(CENTERS)]
        first = math.frexp(rare)[1] - 1
        last = 0 if upper > FIRST else -1
        boxes = [(z, (first, last - 1)) for z in mantissas]
        boxes += [((z[0], min(z[1], before(upper * 2.0**-last))), (last, last))
                  for z in mantissas if z[0] < upper * 2.0**-last]  # fmt: skip
        return boxes

    for name, numbers, upper in (
        ("ONE", [1], near),
        ("SMALL", [1, 2, 3, 4], near),
        ("FORWARD_15", range(5, 16), half),
    ):
        for n in numbers:
            by_logarithm(code(name), n)
            roots = [Box((float(n),) * 2, *box) for box in binades(upper)]
            yield f"{name} {n}", Claim(code(name), (n, n), roots, nothing)
    kernel = in_exact()(PAIR)
    for n in (1, 2, 3):
        truth = near_one_truth(n)

        def near_one(f, p, most, truth=truth):
            run = lambda x: sum(kernel(code("NEAR_ONE"), f[0], x)[:2], 0.0)  # noqa: E731
            return left_out(run, truth, *p)

        roots = [Box((float(n),) * 2, (near, 1.0))]
        yield f"NEAR_ONE {n}", Claim(code("NEAR_ONE"), (n, n), roots, near_one)

    def by_tail(levels):
        def left(f, p, most):
            x, error = cut(f, p, levels, 0, lambda f, p: tail(f, p, levels))
            return error / (f[0] - 1 + x) * most

        return left

    whole = [(4.0, 4.0, near), *((float(n), float(n), half) for n in range(5, 16))]
    binade = [(2.0**n, before(2.0 ** (n + 1)), rare) for n in range(5, 50)]
    real = [(2.0, before(back), half), (back, before(8.0), forward)]
    for name, levels, places in (
        ("LEVELS", 23, whole),
        ("FROM_16", 35, [(16.0, before(32.0), rare)]),
        ("FROM_32", 17, [*binade, (huge, huge, rare)]),
        ("LEVELS_REAL", 35, [*real, (8.0, before(16.0), forward)]),
    ):
        by_fraction(code(name), levels)
        for low, high, p in places:
            parts = [(p, before(0.5)), (0.5, 1.0)] if p < 0.5 else [(p, 1.0)]
            roots = [Box((low, high), one) for one in parts]
            yield (
                f"{name} {low:g}",
                Claim(code(name), (low, high), roots, by_tail(levels)),
            )
    for low, high, of in (
        (rare, 2.0**-10, "f"),
        (after(2.0**-10), before(1.0), "p"),
        (1.0, before(2.0), "p"),
        (2.0, before(back), "p"),
    ):
        backwards(code("BACKWARD_REAL"), Fraction(low))

        def first(f, p, most):
            up = float(f[0] < 1.0)
            f = f[0] + up, f[1] + up
            x, error = cut(f, p, 39, 1, lambda f, p: p)
            return error / x * most

        roots = [Box((low, high), one) for one in ((forward, before(0.5)), (0.5, 1.0))]
        yield (
            f"BACKWARD_REAL {low:g}",
            Claim(code("BACKWARD_REAL"), (low, high), roots, first, of),
        )


def kernel_of_pairs():
    """Return the kernel of a cell's pair, on numbers, with what the logarithm lacks."""
    lost = log_left_out()

    def logarithm(kernel):
        def log_pair(x):
            high, low = kernel(x)
            return high, charged(low, lost)

        return log_pair

    return Source(NAMES, {"log_pair": logarithm})(PAIR)


# --- every cell has a claim ----------------------------------------------------------


class Range:
    """All doubles from one to another, ``whole`` or not where both are possible."""

    def __init__(self, lower, upper, whole=False, rounded=False):
        self.ends, self.whole, self.rounded = (lower, upper), whole, rounded

    def __add__(self, large):
        return Range(*self.ends, self.whole, rounded=True)

    __sub__ = __add__

    def _is(self, other, holds):
        answers = {holds(end, other) for end in self.ends}
        if len(answers) > 1:
            raise ValueError("a comparison with both answers")
        return answers.pop()

    def __eq__(self, other):
        if isinstance(other, Range):  # is it its rounded value?
            return self.whole
        lower, upper = self.ends
        if lower != upper and lower <= other <= upper:
            raise ValueError("a comparison with both answers")
        return lower == other

    def __lt__(self, other):
        return self._is(other, lambda a, b: a < b)

    def __le__(self, other):
        return self._is(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self._is(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self._is(other, lambda a, b: a >= b)

    __hash__ = object.__hash__


def check_regions(codes, every):
    """Raise unless all (f, p) are in boxes of their region's claims, or have no region.

    Return the number of rectangles looked at, which hold all doubles. The region
    FORWARD_REAL has no claim here.
    """

    def code(name):
        return codes("gauss.fast_integer." + name)

    cuts_f = [
        code("RARE"),
        *(float(n) for n in range(1, 17)),
        32.0,
        after(code("F_HUGE")),
    ]
    cuts_p = [
        code("RARE"),
        *map(code, ("P_FORWARD", "P_HALF", "P_NEAR_ONE")),
        after(1.0),
    ]
    spans = []
    for cuts in (cuts_f, cuts_p):
        cuts = [-math.inf, *cuts]
        spans.append(
            [*zip(cuts, map(before, cuts[1:]), strict=False), (cuts[-1], math.inf)]
        )
    f_spans = [(a, b, False) for a, b in spans[0]] + [
        (a, b, True) for a, b in spans[0] if b > 16
    ]
    f_spans = [(after(a) if a in range(1, 16) else a, b, w) for a, b, w in f_spans]
    f_spans += [(float(n), float(n), True) for n in range(1, 16)]
    roots = {}
    for claim in every.values():
        for box in claim.roots:
            low, high = box.p
            if box.k:  # the whole binades, cut at 11/16, 7/8, 9/8 of a power of 2
                low, high = low * 2.0 ** box.k[0], high * 2.0 ** box.k[1]
            roots.setdefault(claim.code, []).append((*box.f, low, high))
    count = 0
    for low, high, whole in f_spans:
        for least, most in spans[1]:
            count += 1
            where = codes("gauss.fast_integer.region")(
                Range(low, high, whole), Range(least, most)
            )
            inside = (
                low >= code("RARE")
                and high <= code("F_HUGE")
                and least >= code("RARE")
                and most <= 1
            )
            if not inside and where != code("OTHER"):
                raise ValueError("a region outside the domain of fast paths")
            if inside and where != code("FORWARD_REAL") and not covered(
                roots.get(where, []), low, high, least, most
            ):  # fmt: skip
                raise ValueError(f"no claim holds at f, p = {low}, {least}")
    for f, p in ((math.nan, 0.5), (2.0, math.nan), (math.nan, math.nan)):
        if codes("gauss.fast_integer.region")(f, p) != code("OTHER"):
            raise ValueError("a region for a value that is not a number")
    return count


def covered(roots, low, high, least, most):
    """Return whether boxes side by side hold all of a rectangle of doubles."""
    place = low
    while place <= high:
        here = [one for one in roots if one[0] <= place <= one[1]]
        p = least
        while p <= most:
            ends = [one[3] for one in here if one[2] <= p <= one[3]]
            if not ends:
                return False
            p = after(max(ends))
        place = after(min(one[1] for one in here))
    return True


ROUNDED = """
def rounded(high, low, error):
    below = high + (low - error)
    above = high + (low + error)
    return below if below == above else math.nan
"""


def check_rounding():
    """Raise unless the rounding test is the one of the theorem (section 7)."""
    path = ROOT / "riskcore/core/special/gauss/rounding_test.py"
    tree = ast.parse(path.read_text())
    (found,) = (x for x in tree.body if getattr(x, "name", "") == "rounded")
    found.body = found.body[1:]  # without its docstring
    for one in (found, *found.args.args):
        one.annotation = one.returns = None
    found.decorator_list = []
    if ast.dump(found) != ast.dump(ast.parse(ROUNDED).body[0]):
        raise ValueError("the rounding test is another")


# --- the certificate -----------------------------------------------------------------


def leaves(box, tree):
    """Yield the boxes that a text of splits makes of one: axes, and . for a leaf."""
    waiting, tree = [box], iter(tree)
    while waiting:
        box, axis = waiting.pop(), next(tree)
        if axis == ".":
            yield box
        else:
            waiting += reversed(box.split(axis))
    if next(tree, None) is not None:
        raise ValueError("a text of splits that goes on")


def check(certificate, names=None, part=slice(None)):
    """Raise unless all claims hold, or those named; return (claims, boxes, largest)."""
    ctx.prec = BITS
    check_rounding()
    codes = in_exact()
    every = dict(claims(codes))
    check_regions(codes, every)
    kernel, count, worst = kernel_of_pairs(), 0, 0.0
    for name in (names or list(every))[part]:
        for root, tree in zip(every[name].roots, certificate[name], strict=True):
            for box in leaves(root, tree):
                found = box_share(kernel, every[name], box)
                if not found <= 1.0:
                    raise ValueError(f"{name}: {found:.3g} of claimed in {vars(box)}")
                count, worst = count + 1, max(worst, found)
    return len(names or every), count, worst


def main(arguments):
    """Check a file, or the part i of n of its claims: FILE [i n]."""
    path, *part = arguments
    certificate = json.loads(Path(path).read_text())
    part = slice(int(part[0]), None, int(part[1])) if part else slice(None)
    found, boxes, worst = check(certificate["claims"], part=part)
    print(f"{found} claims, {boxes} boxes: at most {worst:.3f} of what is claimed")


if __name__ == "__main__":
    main(sys.argv[1:])
