"""Scripts for Gappa and Sollya, written from the kernels' own source.

A kernel runs on graphs (``graph.py``); every operation becomes a line of a script. As
in ``tape.py``, the second word of an exact sum or product is that of its theorem. The
difference from the exact result is a polynomial in the inputs and the rounding errors:
its terms are the hint that Gappa needs. Sollya gives certified suprema of the error of
polynomials.
"""

import math
import re
import shutil
import subprocess
from fractions import Fraction

from bench.proof import graph
from bench.proof.rebind import Copies

READY = bool(shutil.which("gappa") and shutil.which("sollya"))


def exact(kind, a, b, result):
    """Return what a rounded sum or product is off by, a double by its theorem."""
    if graph.constant(a, b, result):
        x, y = Fraction(graph.value(a)), Fraction(graph.value(b))
        off = (x + y if kind == "+" else x * y) - Fraction(graph.value(result))
        assert Fraction(float(off)) == off
        return graph.node(float(off))
    return graph.make("error", kind, a, b, result)


def two_sum(a, b):
    a, b = graph.node(a), graph.node(b)
    for one, other in ((a, b), (b, a)):
        if graph.constant(one) and graph.value(one) == 0.0:
            return other, graph.node(0.0)
    s = graph.add(a, b)
    return s, exact("+", a, b, s)


def two_product(a, b):
    a, b = graph.node(a), graph.node(b)
    s = graph.multiply(a, b)
    return s, exact("*", a, b, s)


def fma(a, b, c):
    """Return a fused product; less the rounded product it is exact."""
    a, b, c = graph.node(a), graph.node(b), graph.node(c)
    product = graph.multiply(a, b)
    if c.kind == "neg" and c.args[0] is product and product.kind == "mul":
        return exact("*", a, b, product)
    return graph.fma(a, b, c)


NAMES = {
    "fma": fma,
    "two_sum": two_sum,
    "fast_two_sum": two_sum,
    "two_product": two_product,
    "float": graph.node,
}
OF = Copies(NAMES).of


# --- polynomials: {names: coefficient}


def variable(name):
    return {(name,): Fraction(1)}


def plus(a, b, factor=1):
    found = dict(a)
    for names, coefficient in b.items():
        found[names] = found.get(names, 0) + factor * coefficient
        if found[names] == 0:
            del found[names]
    return found


def times(a, b):
    found = {}
    for one, x in a.items():
        for two, y in b.items():
            names = tuple(sorted(one + two))
            found[names] = found.get(names, 0) + x * y
    return {names: number for names, number in found.items() if number}


class Script:
    """The lines of a program and what its results are, as polynomials.

    ``errors``: whether the polynomials have the rounding errors as variables;
    ``second``: inputs that are second words.
    """

    def __init__(self, errors=True, second=()):
        self.errors, self.second = errors, set(second)
        self.cancelling = []
        self.lines, self.names, self.polynomials = [], {}, {}
        self.inverse = {}  # name of a reciprocal -> of its number
        self.rounding = {}  # name of an error -> its expression

    def take(self, nodes, names):
        """Take nodes, constants apart, as inputs of these names."""
        for one, name in zip(nodes, names, strict=True):
            one, sign = unsigned(one)
            if not graph.constant(one):
                self.names[one.number] = name if sign > 0 else f"(-{name})"
                self.polynomials[one.number] = plus({}, variable(name), sign)

    def name(self, one):
        """Return what a node is called, after writing the lines that it needs."""
        if one.number not in self.names:
            self.names[one.number], self.polynomials[one.number] = self._new(one)
        return self.names[one.number]

    def polynomial(self, one):
        self.name(one)
        return self.polynomials[one.number]

    def _new(self, one):
        if one.kind == "input":
            return one.args[0], variable(one.args[0])
        if one.kind == "const":
            number = graph.value(one)
            return f"({number.hex()})", plus({}, {(): Fraction(number)})
        if one.kind in ("neg", "plus"):
            sign = -1 if one.kind == "neg" else 1
            text = self.name(one.args[0])
            text = f"(-{text})" if sign < 0 else text
            return text, plus({}, self.polynomial(one.args[0]), sign)
        name = f"n{one.number}"
        if one.kind == "div":
            return self._reciprocal(name, *one.args)
        if one.kind == "error":
            exactly, polynomial = self._as_rounded(*one.args)
            self.lines.append(f"{name} = ({exactly}) - {self.name(one.args[3])};")
            return name, plus(polynomial, self.polynomial(one.args[3]), -1)
        exactly, polynomial = self._operation(one.kind, one.args)
        self.lines.append(f"{name} = float<ieee_64,ne>({exactly});")
        error = f"e{one.number}"
        self.rounding[error] = f"({name} - ({exactly}))"
        less = self.small(polynomial)
        if len(less) > 1 and all(map(self._is_small, less)):
            self.cancelling.append(f"{exactly} -> {self.terms(less)};")
        if self.errors:
            polynomial = plus(polynomial, variable(error))
        return name, polynomial

    def _as_rounded(self, kind, a, b, result):
        """Return an operation as its rounded result has it, by which Gappa knows it."""
        kind = {"+": "add", "*": "mul"}[kind]
        result, sign = unsigned(result)
        if result.kind != kind:
            return self._operation(kind, (a, b))
        exactly, polynomial = self._operation(kind, result.args)
        return ("-" if sign < 0 else "") + f"({exactly})", plus({}, polynomial, sign)

    def _reciprocal(self, name, one, number):
        """Return a variable x of its own; x times the number is 1 + y, y small."""
        assert graph.constant(one)
        assert graph.value(one) == 1.0
        below = self.name(number)
        self.lines.append(f"{name} = float<ieee_64,ne>(1 / {below});")
        self.inverse[name] = below
        return name, variable(name)

    def small(self, polynomial):
        """Return a polynomial with x b = 1 + y for every reciprocal x of b."""
        polynomial = dict(polynomial)
        for name, below in self.inverse.items():
            for names in list(polynomial):
                pairs = min(names.count(name), names.count(below))
                if not pairs:
                    continue
                rest = list(names)
                for _ in range(pairs):
                    rest.remove(name)
                    rest.remove(below)
                one = {tuple(rest): polynomial.pop(names)}
                for _ in range(pairs):
                    one = times(one, {(): Fraction(1), (f"y{name}",): Fraction(1)})
                polynomial = plus(polynomial, one)
            self.rounding[f"y{name}"] = f"({below} * {name} - 1)"
        return polynomial

    def _is_small(self, names):
        return any(name in self.rounding or name in self.second for name in names)

    def hints(self):
        """Return what Gappa needs to know of reciprocals and of what cancels."""
        return self.cancelling + [
            f"{below} * {name} - 1 -> ({name} - 1 / {below}) * {below} "
            f"{{ {below} <> 0 }};"
            for name, below in self.inverse.items()
        ]

    def _operation(self, kind, args):
        words = [self.name(one) for one in args]
        parts = [self.polynomial(one) for one in args]
        if kind == "add":
            return f"{words[0]} + {words[1]}", plus(*parts)
        if kind == "mul":
            return f"{words[0]} * {words[1]}", times(*parts)
        if kind in ("fma", "fnma"):
            sign = "-" if kind == "fnma" else ""
            product = times(parts[0], parts[1])
            polynomial = plus(parts[2], product, -1 if sign else 1)
            return f"{sign}({words[0]} * {words[1]}) + {words[2]}", polynomial
        raise NotImplementedError(kind)

    def terms(self, polynomial):
        """Return a polynomial as an expression of Gappa."""
        found = []
        for names, coefficient in polynomial.items():
            factors = [self.rounding.get(name, name) for name in names]
            if coefficient != 1:
                factors.insert(0, f"({literal(coefficient)})")
            found.append(" * ".join(factors) or "1")
        return " + ".join(found) or "0"


def unsigned(one):
    """Return a node without signs in front of it, and its sign; 0 is -0."""
    sign = 1
    while one.kind in ("plus", "neg"):
        sign = -sign if one.kind == "neg" else sign
        one = one.args[0]
    return one, sign


def literal(number):
    """Return a dyadic number as Gappa and Sollya write it."""
    number = Fraction(number)
    if number.denominator == 1:
        return str(number.numerator)
    assert number.denominator & (number.denominator - 1) == 0
    return f"{number.numerator}b-{number.denominator.bit_length() - 1}"


def inputs(text):
    return [graph.make("input", name) for name in text.split()]


# --- running


def prove(lines, ranges, goal, hints, bound=None):
    """Let Gappa bound an expression; return the bound, or raise.

    ``bound`` is to be proved; without it Gappa finds one.
    """
    wanted = f"|{goal}| <= {bound}" if bound else f"|{goal}| in ?"
    said = _run(lines, ranges, wanted, hints)
    return read(bound if bound else _ends(said)[1])


def enclose(lines, ranges, goal, hints=()):
    """Let Gappa enclose an expression; return the interval as it reads it."""
    return f"[{','.join(_ends(_run(lines, ranges, f'{goal} in ?', hints)))}]"


def _run(lines, ranges, wanted, hints):
    given = " /\\ ".join(ranges)
    text = "\n".join([*lines, f"{{ {given} -> {wanted} }}", *hints])
    done = subprocess.run(
        ["gappa"], input=text, capture_output=True, text=True, check=False, timeout=600
    )
    said = done.stdout + done.stderr
    if "not trivially equal" in said:
        raise ValueError(f"a hint is not what it replaces: {said[:600]}")
    if done.returncode or "rror" in said or "could not" in said.lower():
        raise ValueError(f"Gappa does not prove it: {said[-600:]}")
    return said


def _ends(said):
    found = re.search(r" in \[([^,\s]+)(?: {.*?})?, ([^\s{\]]+)", said)
    if not found:
        raise ValueError(f"Gappa finds no bound: {said[-600:]}")
    return found.groups()


def read(text):
    """Return a bound as Gappa writes it, such as 5b-57; subnormal ones are enlarged."""
    digits, _, power = text.partition("b")
    found = math.ldexp(float(digits), int(power)) if power else float(text)
    exact = found > 2.0**-1022 or float(digits) == 0.0
    return found if exact else math.nextafter(found, math.inf)
