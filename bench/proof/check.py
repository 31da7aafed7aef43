"""Check the certificate of the fast paths: Python's standard library and Arb alone.

    python bench/proof/check.py bench/proof/certificate.json

Nothing of the package or of the other files of the proof is imported. The kernels'
source text is executed here with other meanings of fma, two_sum, float and so on: on
numbers that record their deviations, on rational functions, and on power series of
balls. The theory is in notes/correct_rounding.md, section 30.
"""

import ast
import functools
import hashlib
import itertools
import json
import math
import operator
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


# --- the source ----------------------------------------------------------------------


class Renewed(ast.NodeTransformer):
    """Insert x, y = renewed(x, y) where kernels compute levels: it changes no value."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        names = [one.arg for one in node.args.args]
        for pair in (["x", "y"], ["u", "t"]):
            if set(pair) <= {*names}:
                low = pair[0] + "_low" in names
                words = [f"({one}, {one}_low)" if low else one for one in pair]
                both = ", ".join(words)
                place = 1 if ast.get_docstring(node) else 0
                text = f"{both} = renewed({both})"
                node.body[place:place] = ast.parse(text).body
        return node

    def visit_Assign(self, node):
        both = ast.unparse(node.targets[0]).strip("()")
        if both in ("x, y", "above, below"):
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


# --- polynomials in exact values -----------------------------------------------------


class Tape:
    """The symbols of a run: exact values and deviations, with bounds and definitions.

    An exact value has a number, a deviation minus one. ``defined``: a value's
    polynomial; a deviation's polynomials by deviations, and what is beside them.
    ``factor``: the ends of symbol 0; numbers may be multiples of its powers.
    """

    now = None

    def __init__(self, factor=None):
        Tape.now, self.factor, self.defined = self, factor, {}
        self.size = {0: factor and ball(*factor)}
        self.sizes = {(): arb(1)}

    def symbol(self, size, sign=1, defined=None):
        number = sign * len(self.size)
        self.size[number] = size
        if defined is not None:
            self.defined[number] = defined
        return number

    def monomial(self, powers):
        """Return the enclosure of a product of powers of symbols."""
        if powers not in self.sizes:
            x = arb(1)
            for symbol, power in powers:
                x *= to_power(self.size[symbol], power)
            self.sizes[powers] = x
        return self.sizes[powers]

    def evaluate(self, polynomial):
        return sum((self.monomial(m) * c for m, c in polynomial.items()), arb(0))

    def bound(self, slopes, rest, patience=3):
        """Return a bound of a sum of deviations times slopes, as polynomials.

        Deviations are replaced by what they come from, the last first: so what
        compensates cancels. The least bound on the way is taken.
        """
        best, worse = None, 0
        while worse < patience:
            total = rest + sum((abs(self.evaluate(x)) * self.size[s]
                                for s, x in slopes.items()), arb(0))  # fmt: skip
            total, worse = total.abs_upper(), worse + 1
            if best is None or total < best:
                best, worse = total, 0
            if not self.left(slopes) or sum(map(len, slopes.values())) > MANY:
                break
            slopes, rest = self.replaced(slopes, rest)
        return best

    def left(self, slopes):
        return [s for s in slopes if s in self.defined]

    def replaced(self, slopes, rest):
        """Return a sum with its last deviation replaced by what that comes from."""
        slopes, symbol = dict(slopes), min(self.left(slopes))
        last, (more, beside) = slopes.pop(symbol), self.defined[symbol]
        for s, x in more.items():
            put(slopes, s, combined(slopes.get(s, {}), times(last, x)))
        return slopes, rest + abs(self.evaluate(last)) * beside

    def expanded(self, slopes, rest):
        while self.left(slopes):
            slopes, rest = self.replaced(slopes, rest)
        return dict(slopes), rest


MANY = 60
ONE = {(): fmpq(1)}


def put(slopes, symbol, polynomial):
    slopes.pop(symbol, None)
    if polynomial:
        slopes[symbol] = polynomial


def combined(one, two, factor=1):
    """Return the sum of a polynomial and a multiple of another one."""
    total = dict(one)
    for monomial, c in two.items():
        total[monomial] = total.get(monomial, 0) + c * factor
        if total[monomial] == 0:
            del total[monomial]
    return total


def times(one, two):
    product = {}
    for (m, c), (n, d) in itertools.product(one.items(), two.items()):
        powers = dict(m)
        for symbol, power in n:
            powers[symbol] = powers.get(symbol, 0) + power
        key = tuple(sorted((s, k) for s, k in powers.items() if k))
        product[key] = product.get(key, 0) + c * d
    return {m: c for m, c in product.items() if c != 0}


def top(x):
    """Return the least e with |x| <= 2^e."""
    mantissa, exponent = x.abs_upper().man_exp()
    n = int(mantissa)
    return int(exponent) + n.bit_length() - (n & (n - 1) == 0) if n else -5000


def bottom(x):
    """Return an e with |x| >= 2^e."""
    mantissa, exponent = x.abs_lower().man_exp()
    return int(exponent) + int(mantissa).bit_length() - 1 if mantissa else -1074


def to_power(x, n):
    result = arb(1)
    for _ in range(abs(n)):
        result *= x
    return 1 / result if n < 0 else result


def ball(lower, upper):
    middle, radius = (arb(lower) + upper) / 2, (arb(upper) - lower) / 2
    return arb(middle, abs(radius).abs_upper())


def rational(x):
    return fmpq(*x.as_integer_ratio())


def common(x, y):
    """Return an enclosure of a value from two."""
    if not x.is_finite() or not y.is_finite():
        return x if x.is_finite() else y
    return x.intersection(y)


# --- numbers with their deviations ---------------------------------------------------


class Arithmetic:
    """Operations that follow from others."""

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return -self + other

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def moved(self, large):
        """Return this number plus a constant that rounds all of it to one number."""
        low, high = (end + large for end in self.ends)
        if low != high:
            raise ValueError("a box that is rounded to two numbers")
        return low


class Number(Arithmetic):
    """A computed double: exact value + deviations times slopes, up to ``rest``.

    The exact value, without any rounding, is a polynomial ``exact``, enclosed by
    ``value``. All are in units of the factor's ``power`` and a ``unit``'s ``degree``,
    there the linear form ``linear`` in the unit's two numbers. A multiple of 2^grid.
    """

    unit, degree, power, linear, ends = None, 0, 0, None, None
    times = made = ()

    def __init__(self, exact, value, slopes=None, rest=None, grid=-5000, **more):
        self.exact, self.value, self.slopes = exact, value, slopes or {}
        self.rest, self.grid = arb(0) if rest is None else rest, grid
        self.__dict__.update(more)
        self.unit = self.unit if self.degree else None
        self._off = self._X = None

    def off(self):
        """Return a bound of |computed - exact|."""
        if self._off is None:
            self._off = Tape.now.bound(self.slopes, self.rest)
        return self._off

    def X(self):
        """Return an enclosure of the computed double."""
        if self._X is None:
            self._X = self.value + arb(0, self.off())
        return self._X

    def units(self):
        return {"power": self.power, "unit": self.unit, "degree": self.degree}

    def scaled(self):
        return self.power or self.degree

    def absolute(self):
        if self.degree:
            raise ValueError("a size that depends on a unit")
        return self.X() * Tape.now.monomial(((0, self.power),) if self.power else ())

    def of_power(self, power):
        """Return this number as a multiple of another power of the factor."""
        if power == self.power:
            return self
        monomial = ((0, self.power - power),)
        size, by = Tape.now.monomial(monomial), {monomial: fmpq(1)}
        slopes = {s: times(x, by) for s, x in self.slopes.items()}
        linear = self.linear and tuple(x * size for x in self.linear)
        return Number(
            times(self.exact, by), self.value * size, slopes, self.rest * abs(size),
            self.grid, power=power, unit=self.unit, degree=self.degree,
            linear=linear)  # fmt: skip

    def __neg__(self):
        return multiplied(self, -1.0)

    def __add__(self, other):
        if is_zero(other):
            return self
        if other is self:
            return multiplied(self, 2.0)
        if isinstance(other, float) and abs(other) >= 2.0**40 and self.ends:
            return self.moved(other)
        total = plus(self, other)
        result = single(total) if recovered(self, other) else rounded(total)
        result.made = self, other
        return result

    def __mul__(self, other):
        if is_zero(other):
            return 0.0
        if not isinstance(other, Number) and math.frexp(abs(other))[0] == 0.5:
            grid = self.grid + top(arb(other))
            if abs(other) >= 1.0 or (not self.scaled() and grid >= -1074):
                return multiplied(self, other)
        result = rounded(product(self, other), True)
        result.times = self, other
        return result

    def __truediv__(self, other):
        return rounded(quotient(self, other), True)

    def __rtruediv__(self, other):
        return rounded(quotient(number(other), self), True)

    def _holds(self, other, sign):
        """Return whether sign (self - other) > 0."""
        x = self.ends or (self.absolute().lower(), self.absolute().upper())
        answers = {(end - other) * sign > 0 for end in x}
        if len(answers) > 1:
            raise ValueError("a comparison with both answers")
        return answers.pop()

    def __gt__(self, other):
        return self._holds(other, 1)

    def __lt__(self, other):
        return self._holds(other, -1)


def number(x):
    """Return a constant as a number."""
    if isinstance(x, Number):
        return x
    above, below = x.as_integer_ratio()
    grid = (above & -above).bit_length() - below.bit_length() if x else 5000
    return Number({(): rational(x)} if x else {}, arb(x), grid=grid)


def larger(a, b):
    """Return whether |a| >= |b| for sure; or |b| <= 2 |a|, and signs differ."""
    a, b = together(number(a), number(b))
    power = min(a.power, b.power)
    x, y = a.of_power(power).X(), b.of_power(power).X()
    opposite = x * y <= 0 and 2 * x.abs_lower() >= y.abs_upper()
    return opposite or x.abs_lower() >= y.abs_upper()


def recovered(x, y):
    """Return whether x + y is s - a, or minus it; s is a + b rounded, |a| >= |b|."""
    for one, other in ((x, y), (y, x)):
        s, sign = one, 1.0
        if getattr(one, "times", ()) and one.times[1] == -1.0:
            s, sign = one.times
        made = getattr(s, "made", ())
        for a, b in (made, made[::-1]) if made else ():
            if not isinstance(a, Number):
                minus = not isinstance(other, Number) and other == -sign * a
            elif sign == 1.0:
                minus = getattr(other, "times", ()) == (a, -1.0)
            else:
                minus = other is a
            if minus and larger(a, b):
                return True
    return False


def is_zero(x):
    return not isinstance(x, Number) and x == 0.0


def together(a, b):
    """Return two numbers in the later one of their units."""
    if a.degree and b.degree and a.unit is not b.unit:
        first, last = (a, b) if a.unit.place < b.unit.place else (b, a)
        if first not in last.unit.known:
            raise ValueError("a number in another unit")
        return last.unit.known.get(a, a), last.unit.known.get(b, b)
    return a, b


def plus(a, b):
    """Return a + b, not rounded."""
    if is_zero(b):
        return a
    a, b = together(number(a), number(b))
    if a.degree != b.degree:
        raise ValueError("a sum that depends on a unit")
    power = min(a.power, b.power)
    a, b = a.of_power(power), b.of_power(power)
    exact, value = reduced(combined(a.exact, b.exact)), a.value + b.value
    slopes = dict(a.slopes)
    for s, x in b.slopes.items():
        put(slopes, s, combined(slopes.get(s, {}), x))
    linear = None
    if a.linear and b.linear:
        linear = tuple(map(sum, zip(a.linear, b.linear, strict=True)))
        linear = linear if exact else (arb(0), arb(0))
    return Number(exact, value if exact else arb(0), slopes, a.rest + b.rest,
                  min(a.grid, b.grid), **a.units(), linear=linear)  # fmt: skip


def reduced(exact):
    """Return a sum with values replaced by their definitions, if it is shorter."""
    while len(exact) > 1:
        found = [exact]
        for monomial, c in exact.items():
            for symbol, power in monomial:
                if power == 1 and symbol in Tape.now.defined:
                    others = tuple(one for one in monomial if one[0] != symbol)
                    rest = {m: d for m, d in exact.items() if m != monomial}
                    put_in = times({others: c}, Tape.now.defined[symbol])
                    found.append(combined(rest, put_in))
        best = min(found, key=len)
        if len(best) == len(exact):
            break
        exact = best
    return exact


def product(a, b):
    """Return a b, not rounded."""
    a, b = together(number(a), number(b))
    slopes = {s: times(x, b.exact) for s, x in a.slopes.items()}
    for s, x in b.slopes.items():
        put(slopes, s, combined(slopes.get(s, {}), times(a.exact, x)))
    slopes = {s: x for s, x in slopes.items() if x}
    rest = abs(a.value) * b.rest + abs(b.value) * a.rest + a.off() * b.off()
    linear, unit = None, a.unit or b.unit
    if unit and not a.degree + b.degree:
        unit.closed = True
    for x, y in ((a, b), (b, a)):
        if x.linear and not y.degree:
            linear = tuple(z * y.value for z in x.linear)
    return Number(times(a.exact, b.exact), a.value * b.value, slopes, rest.abs_upper(),
                  max(a.grid + b.grid, -5000), power=a.power + b.power,
                  unit=unit, degree=a.degree + b.degree, linear=linear)  # fmt: skip


def quotient(a, b):
    """Return a/b, not rounded: c' = (a' - c b')/b, and -c' b'/b of second order."""
    a, b = together(number(a), single(number(b)))
    ((monomial, c),) = b.exact.items()
    inverse = {tuple((s, -k) for s, k in monomial): 1 / c}
    exact, value = times(a.exact, inverse), a.value / b.value
    slopes = {s: times(x, inverse) for s, x in a.slopes.items()}
    by = times(exact, {m: -x for m, x in inverse.items()})
    for s, x in b.slopes.items():
        put(slopes, s, combined(slopes.get(s, {}), times(by, x)))
    if a.degree and a.degree == b.degree:
        a.unit.closed = True
    off = (a.off() + abs(value) * b.off()) / abs(b.X())
    rest = (a.rest + abs(value) * b.rest + off * b.off()) / abs(b.value)
    return Number(exact, value, slopes, rest.abs_upper(), power=a.power - b.power,
                  unit=a.unit or b.unit, degree=a.degree - b.degree)  # fmt: skip


def multiplied(a, c):
    """Return a multiple of a number by a power of 2, which is exact."""
    by = {(): rational(c)}
    linear = a.linear and tuple(x * c for x in a.linear)
    return Number(
        times(a.exact, by), a.value * c, {s: times(x, by) for s, x in a.slopes.items()},
        a.rest * abs(c), a.grid + top(arb(c)), **a.units(), linear=linear,
        times=(a, c))  # fmt: skip


def single(x):
    """Return a number whose exact value is one monomial: a new symbol if need be."""
    if len(x.exact) > 1:
        x.exact = {((Tape.now.symbol(x.value, 1, x.exact), 1),): fmpq(1)}
    return x


def smallest(x):
    """Return a lower bound of the units of a number."""
    size = arb(1)
    if x.power:
        size = to_power(arb(Tape.now.factor[0 if x.power > 0 else 1]), x.power)
    if x.degree:
        size *= to_power(x.unit.ends[0 if x.degree > 0 else 1], x.degree)
    return size.abs_lower()


def rounded(x, lost=False):
    """Return a number rounded to a double; ``lost``: it may underflow.

    A rounding error is a new deviation; or, if far below what the number is off by
    already, a part of the rest.
    """
    X = single(x).X()
    if not X.is_finite():
        x.grid, err = -5000, arb(math.inf)
    elif x.scaled():
        x.grid, err = -5000, U * X.abs_upper()
        if lost:
            err = (err + arb(2) ** -1074 / smallest(x)).upper()
    else:
        e = top(X)
        if x.grid >= -1074 and e <= x.grid + 53:
            return x
        err = arb(2) ** max(e - 54, -1075)
        x.grid = max(x.grid, bottom(X) - 52, -1074)
    if err <= x.off() * 2.0**-20:
        rest, slopes = (x.rest + err).upper(), x.slopes
    else:
        tape, rest = Tape.now, arb(0)
        more = {**x.slopes, tape.symbol(err, -1): ONE}
        new = tape.symbol((x.off() + err).upper(), -1, (more, x.rest))
        slopes = {new: ONE}
    return Number(x.exact, x.value, slopes, rest, x.grid, **x.units(), linear=x.linear)


def fma(a, b, c):
    """Return a b + c, rounded once."""
    if not any(isinstance(x, Number) for x in (a, b, c)):
        return float(Fraction(a) * Fraction(b) + Fraction(c))
    if is_zero(a) or is_zero(b):
        return c
    return rounded(plus(product(a, b), c), True)


def two_sum(a, b):
    s = a + b
    if not isinstance(s, Number):
        low = 0.0
        if not isinstance(a, Number) and not isinstance(b, Number):
            low = float(Fraction(a) + Fraction(b) - Fraction(s))
        return s, low
    return s, plus(plus(a, b), -s)


def fast_two_sum(a, b):
    if is_zero(a):
        return b, 0.0
    s, low = two_sum(a, b)
    if isinstance(low, Number) and not larger(a, b):
        low.rest += 2 * U * number(b).of_power(s.power).X().abs_upper()
    return s, low


def two_product(a, b):
    s = a * b
    return s, fma(a, b, -s)


# --- levels --------------------------------------------------------------------------


class Unit:
    """A computed value as a unit: its ends, and what other numbers are in it.

    Numbers there are linear in ``first``, the ratio of two, off by ``off``, until it is
    ``closed``: numbers without units depend on that ratio.
    """

    closed = False

    def __init__(self, below, first, off):
        self.known, self.first, self.off, old = {}, first, off, below.unit
        self.place = old.place + 1 if old else 0
        least, most = old.ends if old else (1, 1)
        self.ends = below.X().abs_lower() * least, below.X().abs_upper() * most
        if not (self.ends[0] > arb(2) ** -960 and self.ends[1] < arb(2) ** 960):
            raise ValueError("levels that may overflow or underflow")


def renewed(x, y):
    """Return two numbers, or pairs, in units of the second one, a pair being its sum.

    In exact arithmetic they are (a S + b)/(c S + d) and 1 there, S the ratio before.
    """
    words = [z if isinstance(z, tuple) else (z, 0.0) for z in (x, y)]
    if words[1][0] != 1.0 and not isinstance(words[1][0], Number):
        return x, y
    units = {z.unit.place: z.unit for pair in words for z in pair
             if isinstance(z, Number) and z.degree}  # fmt: skip
    last = units[max(units)] if units else None
    if len(units) > 1:
        words = [tuple(last.known.get(z, z) for z in pair) for pair in words]
    above, below = (plus(number(high), low) for high, low in words)
    if above.power or below.power:
        return x, y
    lows = [low for _, low in words if isinstance(low, Number)]
    if not above.degree == below.degree <= 1 or any(low.exact for low in lows):
        raise ValueError("levels of another form")
    if last and below.exact == ONE and not below.slopes:
        return words if isinstance(y, tuple) else (words[0][0], words[1][0])
    if last and last.closed:
        raise ValueError("levels that depend on the ratio in another way")
    tape, ratio = Tape.now, quotient(above, below)
    value, slopes, rest = ratio.value, ratio.slopes, ratio.rest
    if last:
        (a, b), (c, d), x = above.linear, below.linear, tape.size[last.first]
        ends = [(a * end + b) / (c * end + d) for end in (x.lower(), x.upper())]
        value = common(value, ends[0].union(ends[1]))
        slopes, rest = tape.expanded(slopes, rest)
        slopes.pop(last.off, None)
        slope = (a * d - b * c) / (below.value * below.X())
        rest += abs(slope) * tape.size[last.off]
    off = tape.bound(slopes, rest)
    first, by = tape.symbol(value), tape.symbol(off, -1)
    unit, results = Unit(below, first, by), []
    for (high, low), exact, size, new, linear in (
        (words[0], {((first, 1),): fmpq(1)}, value, {by: ONE}, (arb(1), arb(0))),
        (words[1], ONE, arb(1), {}, (arb(0), arb(1))),
    ):
        more, rest = {"unit": unit, "degree": 1}, 0.0
        if isinstance(low, Number):
            lost = off * len(new) + abs(low.X()) / below.X().abs_lower()
            symbol = tape.symbol(lost.abs_upper(), -1)
            rest = Number({}, arb(0), {**new, symbol: times(ONE, {(): fmpq(-1)})},
                          linear=(arb(0), arb(0)), **more)  # fmt: skip
            unit.known[low], new = rest, {symbol: ONE}
        result = Number(exact, size, new, linear=linear, **more)
        unit.known[high] = result
        results.append((result, rest))
    return (*results,) if isinstance(y, tuple) else (results[0][0], results[1][0])


LEVELS = {2: 17, 3: 35}  # of the fraction, by ``last``: those of ``by_fraction``


def settled(u, f, p, y, last):
    """Return u, the computed k X y of a level, its exact value in narrower bounds.

    X lies between what levels make of tails at the ends; that u is k X y in exact
    arithmetic is proved with the formula.
    """
    f, p = (x.ends if isinstance(x, Number) else (x, x) for x in (f, p))
    (f_low, f_high), (p_low, p_high) = (map(arb, x) for x in (f, p))
    x, z = tail(f_high, p_low, LEVELS[last]), tail(f_low, p_high, LEVELS[last])
    for n in range(LEVELS[last] - 1, 2 * last - 1, -1):
        x = level(x, n, f_high, p_low).lower()
        z = level(z, n, f_low, p_high).upper()
    if y.exact != ONE:
        raise ValueError("a level in other units")
    value = common(u.value, ball((1 + last) * x.lower(), (1 + last) * z.upper()))
    exact = {((Tape.now.symbol(value, 1, u.exact), 1),): fmpq(1)}
    return Number(exact, value, u.slopes, u.rest, **u.units(), linear=u.linear)


# --- bits and whole numbers ----------------------------------------------------------


class Pattern:
    """The bits of a number z 2^k, and what kernels make of them; ``parts``: z and k."""

    def __init__(self, parts, state="bits"):
        self.parts, self.state = parts, state

    def to(self, before, state):
        if self.state != before:
            raise ValueError("other operations on bits")
        return Pattern(self.parts, state)

    def __sub__(self, other):
        if isinstance(other, Pattern):
            return self.to("bits", other.to("k << 52", "z").state)
        (lower, upper), c = self.parts[0], from_bits(other)
        if not (c <= lower and upper < 2.0 * c):
            raise ValueError("another mantissa")
        return self.to("bits", "bits - c")

    def __rshift__(self, places):
        return self.to("bits - c" if places == 52 else "", "k")

    def __lshift__(self, places):
        return self.to("k" if places == 52 else "", "k << 52")


def bits(x):
    if isinstance(x, Number):
        return Pattern(x.parts)
    return struct.unpack("<q", struct.pack("<d", x))[0]


def from_bits(pattern):
    if not isinstance(pattern, Pattern):
        return struct.unpack("<d", struct.pack("<q", pattern))[0]
    return entry(*pattern.to("z", "").parts[0])


def real(x):
    if not isinstance(x, Pattern):
        return x if isinstance(x, Number | Exact) else float(x)
    first, last = x.to("k", "").parts[1]
    if first == last:
        return float(first)
    k = ball(first, last)
    return Number({((Tape.now.symbol(k), 1),): fmpq(1)}, k, grid=0)


real.fromhex = float.fromhex


NAMES = {
    "fma": fma, "two_sum": two_sum, "fast_two_sum": fast_two_sum,
    "two_product": two_product, "bits": bits, "from_bits": from_bits, "float": real,
    "renewed": renewed, "settled": settled,
}  # fmt: skip


def entry(lower, upper, parts=None):
    """Return an argument, any double between two; ``parts``: of mantissa, exponent."""
    X = ball(lower, upper)
    exact = {((Tape.now.symbol(X), 1),): fmpq(1)}
    return Number(exact, X, grid=ulp(lower), ends=(lower, upper), parts=parts)


def ulp(x):
    return max(math.frexp(x)[1] - 53, -1074)


def multiple(lower, upper, parts=None):
    """Return the factor as an argument."""
    return Number(ONE, arb(1), grid=ulp(lower), power=1, ends=(lower, upper),
                  parts=parts)  # fmt: skip


# --- exact arithmetic: rational functions, and power series --------------------------


class Exact(Arithmetic):
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
        if isinstance(other, float) and other >= 2.0**40:
            return self.moved(other)
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

    def __rtruediv__(self, other):
        return self.made(other) / self

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


LOG, PAIR = "elementary.log_pair", "gauss.risk_blocks.pair_of_region"
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
    """Return X_n from X_n+1 = x (notes/correct_rounding.md, section 11)."""
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


def share(program, factor, left, least):
    """Return the bound relative to the bound claimed.

    ``program()`` returns high, low, error. ``left``: what the formula leaves out, in
    the factor's unit; ``least``: a lower bound of r, in that unit.
    """
    Tape(factor)
    words = [*map(number, program())]
    power = min(x.power for x in words)
    high, low, error = (x.of_power(power) for x in words)
    total = plus(high, low)
    lost = Tape.now.bound(total.slopes, total.rest, MANY) + left
    smallest = error.X().abs_lower()
    r = (least - abs(low.X()).upper() - lost.abs_upper()).lower()
    r = r.max(high.X().abs_lower())
    base, c = words[2].times or (None, None)
    if base is words[0] and isinstance(c, float):  # a multiple of the first word
        smallest = smallest.max((arb(c) * r).lower())
    else:
        c = error.X().abs_upper() / r
    if not (c <= 2.0**-56 and 2 * low.X().abs_upper() <= r):
        return math.inf  # `rounded_down` needs more
    needed = (lost + 4 * U * (abs(low.X()) + abs(error.X()))) * (1 + arb(2) ** -30)
    found = needed.abs_upper() / smallest
    return float(found.upper()) if found < 2**60 else math.inf


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
            return high, plus(low, Number({}, arb(0), rest=lost, grid=5000))

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

    __hash__ = object.__hash__
    __lt__ = functools.partialmethod(_is, holds=operator.lt)
    __le__ = functools.partialmethod(_is, holds=operator.le)
    __gt__ = functools.partialmethod(_is, holds=operator.gt)
    __ge__ = functools.partialmethod(_is, holds=operator.ge)


def check_regions(codes, every):
    """Raise unless all (f, p) are in boxes of their region's claims, or have no region.

    Return the number of rectangles looked at, which hold all doubles. The region
    FORWARD_REAL has no claim here.
    """

    def code(name):
        return codes("gauss.fast_integer." + name)

    borders = [*map(code, ("P_FORWARD", "P_HALF", "P_NEAR_ONE")), after(1.0)]
    whole = [float(n) for n in range(1, 16)]
    spans = []
    for cuts in ([*whole, 16.0, 32.0, after(code("F_HUGE"))], borders):
        cuts = [-math.inf, code("RARE"), *cuts, math.inf]
        ends = [*map(before, cuts[1:-1]), math.inf]
        spans.append([*zip(cuts[:-1], ends, strict=True)])
    f_spans = [(after(a) if a in whole else a, b, False) for a, b in spans[0]]
    f_spans += [(a, b, True) for a, b in spans[0] if b > 16]
    f_spans += [(n, n, True) for n in whole]
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
            where = code("region")(Range(low, high, whole), Range(least, most))
            inside = min(low, least) >= code("RARE")
            inside = inside and high <= code("F_HUGE") and most <= 1.0
            if not inside and where != code("OTHER"):
                raise ValueError("a region outside the domain of fast paths")
            if inside and where != code("FORWARD_REAL") and not covered(
                roots.get(where, []), low, high, least, most
            ):  # fmt: skip
                raise ValueError(f"no claim holds at f, p = {low}, {least}")
    for f, p in ((math.nan, 0.5), (2.0, math.nan), (math.nan, math.nan)):
        if code("region")(f, p) != code("OTHER"):
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


# What stands around the pairs, from a cell or an array to what is returned: a digest of
# each text, so that a change fails until somebody has thought it through.
TEXTS = {
    "core/special/gauss/rounding_test": """
        rounded:40498d22 rounded_down:7eb3e320
    """,
    "core/special/gauss/ball_step": """
        risk_ball:858cbfd8 side:29cdf92e _inside:ec703d8f nearest_slow:31a0cc89
        nearest_slow_of:4f2c6bf7
    """,
    "core/compiled/signals": """
        STRETCH:c1c3827c _LOOP:ace63259 _ends:54dd0893 loop_in_stretches:654bf2d4
        heard:e9f6eb83
    """,
    "core/special/loops": """
        cells_ahead:1f3ca4a3
    """,
    "core/risk/individual": """
        risk_blocks:b426b0ce nearest_slow:976003d1 nearest_slow_of:dff2b62b
        rounded:655df091 _column:98a89620 _store:0b6c07ee _in_place:c507d276
        _loop:6baec9f0 _of_fraction:3df990ed _risk:33f4ce1e _value:e777137f
        _block:e777137f _complete:ffd0755c nearest_of_cell:4725bc50
        nearest_of_block:0c751d94 _inside:0b7a60fc _fraction:b1582cc0
        _moved_value:070faf0b _moved_block:070faf0b _complete_moved:89b71923
        from_frequencies_of_cell:4fbec5a2 from_frequencies_of_block:c7d21185
    """,
    "core/risk/bounds": """
        risk_blocks:b426b0ce double_above:bb620196 sides_slow:316e0f59
        rounded_down:b4dacaf3 missing:c3b39fec _column:d46671ea _loop:a432ed2b
        _store:3da4bd7c _down:128ad75f _value:873d8619 _block:873d8619
        _lower_block:ad488fc1 risk_bounds:2347b5b2 bounds_block:2d6d24b8
        _bounds_loop:89c3ded3 _directed:e0ec4cb6
    """,
}


class Bare(ast.NodeTransformer):
    """Leave out what does not run: docstrings, annotations, and the decorators."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.returns, node.decorator_list = None, []
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return node

    def visit_arg(self, node):
        node.annotation = None
        return node


def bound(tree):
    """Yield each name that a module's own statements bind, and what binds it."""
    for one in tree.body:
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            yield one.name, ast.unparse(one)
            continue
        for x in ast.walk(one):
            if isinstance(x, ast.alias):
                yield x.asname or x.name, f"{getattr(one, 'module', '')} {x.name}"
            elif isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store):
                yield x.id, ast.unparse(one)


def check_texts(changed=()):
    """Raise unless what stands around the pairs is what the theorem is about.

    ``changed``: other sources, by path.
    """
    for path, names in TEXTS.items():
        file = f"riskcore/{path}.py"
        source = dict(changed).get(file) or (ROOT / file).read_text()
        there = {}
        for name, text in bound(Bare().visit(ast.parse(source))):
            there[name] = there.get(name, "") + text
        for name, digest in (one.split(":") for one in names.split()):
            found = hashlib.sha256(there.get(name, "").encode()).hexdigest()[:8]
            if found != digest:
                raise ValueError(f"{path}: {name} is another: {found}")


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
    check_texts()
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
