"""Prove that a number in fixed point is within its own bound of what it stands for.

    python -m bench.proof.fixed_point

Operations are proved in ``fixed_operations.py``. Arb tells whether the constants are
right. Functions run with exact operations, on polynomials, and so give Taylor's; what
these leave is less than what ``_add_to_error`` adds. Each number also has a range,
which holds the exact and the computed one: numbers stay below 2^27, operands in the
ranges needed.
Assumed of arguments: an error of at most 2^-20; 1/4 < x < 4 and |exponent| <= 2^12 for
the logarithm, |x| < 2^11 for the exponential, |x| <= 1/2 for the sine.

By hand remains, beside the list there
6. What a series of coefficients c leaves is largest with |c| at the end of the range.
"""

from flint import arb, ctx, fmpq, fmpq_series

from bench.proof import fixed_operations
from bench.proof.fixed_operations import FEW, MORE, MOST, off_quotient, refuse, unit
from bench.proof.rebind import Copies
from bench.proof.symbols import ImpossibleError, Integer, Poly, Run, constant
from riskcore.core.special import fixed_point

OFF = fmpq(1, 2**20)  # of arguments
SMALL = arb(1) / 2**100  # more than errors of constants


def between(low, high):
    return arb(low).union(arb(high))


def symbol(name):
    return Poly({(name,): fmpq(1)})


class Number:
    """An exact polynomial, and a range that holds the computed number, too."""

    poly = ball = None

    def be(self, poly, ball, what):
        refuse(abs(ball) < MOST, what, "not below 2^27")
        self.poly, self.ball = poly, ball


class Near:
    """A number as a double, to be compared; the answer narrows the number's range."""

    def __init__(self, state, x):
        self.state, self.x = state, x

    def __truediv__(self, other):
        return self.x, other.x

    def _ask(self, c, sign):
        """Answer whether sign x > sign c, and let the range of x agree."""
        answer = self.state.answers.pop(0)
        c, off = arb(c), arb(8 * OFF)  # the exact number is so near the computed one
        low, high = self.x.ball.lower(), self.x.ball.upper()
        if answer == (sign > 0):
            low = max(low, (c - off).lower())
        else:
            high = min(high, (c + off).upper())
        if low > high:
            raise ImpossibleError
        self.x.ball = between(low, high)
        return answer

    def __lt__(self, c):
        return self._ask(c, -1)

    def __gt__(self, c):
        return self._ask(c, 1)


class State:
    """Exact operations for n words, with the names that they give to results."""

    def __init__(self, source, n, answers=()):
        self.source, self.n, self.answers = source, n, list(answers)
        self.run, self.unit = Run(), arb(unit(n))
        self.series = self.argument = self.y = None

    def named(self, name, ball):
        z = Number()
        z.be(symbol(name), ball, name)
        return z

    def operations(self):
        """Return the exact operations, by those that they stand for."""
        names = "set_integer add subtract add_integer times over shift multiply divide"
        names = [*names.split(), "rounded", "_nearest", "_add_to_error"]
        instead = {getattr(self.source, name): self.exactly(name) for name in names}
        instead[self.source.number] = lambda _: Number()
        return instead

    def exactly(self, name):
        return lambda _, *args: getattr(self, name)(*args)

    def of(self, function, *constants):
        """Return a copy of a function on exact numbers; constants have their names."""
        instead = self.operations()
        for name, ball in constants:
            kernel = getattr(self.source, name)
            instead[kernel] = lambda _, z, n, name=name, ball=ball: z.be(
                symbol(name), ball + arb(0, 1) * SMALL, name
            )
        return Copies({}, instead).of(getattr(self.source, function))

    # --- the operations, one or two units off

    def _be(self, z, poly, ball, what):
        if self.argument and poly == self.argument[0]:  # has a name
            poly, ball = self.argument[1:]
        z.be(poly, ball + arb(0, 2) * self.unit, what)

    def set_integer(self, z, n, k):
        z.be(constant(k), arb(k), "set_integer")

    def add(self, z, x, y, n):
        self._be(z, x.poly.plus(y.poly), x.ball + y.ball, "add")

    def subtract(self, z, x, y, n):
        self._be(z, x.poly.plus(y.poly, -1), x.ball - y.ball, "subtract")

    def add_integer(self, z, x, k, n):
        self._be(z, x.poly.plus(constant(k)), x.ball + k, "add_integer")

    def times(self, z, x, k, n):
        whole = isinstance(k, Integer)
        low, high = (k.low, k.high) if whole else (k, k)
        refuse(-(2**30) < low <= high < 2**30, "times", "not below 2^30")
        poly = x.poly.times(k.poly if whole else fmpq(k))
        self._be(z, poly, x.ball * between(low, high), "times")

    def over(self, z, x, k, n):
        refuse(0 < k < 2**30, "over", "not an integer below 2^30")
        self._be(z, x.poly.times(fmpq(1, k)), x.ball / k, "over")

    def shift(self, z, x, s, n):
        refuse(s == 0, "shift", "not by 0")
        z.be(x.poly, x.ball, "shift")

    def multiply(self, z, x, y, n):
        self._be(z, x.poly.times(y.poly), x.ball * y.ball, "multiply")

    def divide(self, z, x, y, n):
        """Let z be s = (y-1)/(y+1) of the logarithm."""
        refuse(y.poly.plus(x.poly, -1) == constant(2), "log", "not (y - 1)/(y + 1)")
        refuse(y.ball > arb(2) ** -20 and y.ball < 2**20, "divide", "a divisor's range")
        self.y = x.poly.plus(constant(1))
        self._be(z, symbol("s"), 1 - 2 / y.ball, "divide")
        self.range = abs(z.ball).upper()

    def rounded(self, x):
        return Near(self, x)

    def _nearest(self, quotient):
        """Return k, next to x/log 2, and name x - k log 2 as t."""
        x, y = quotient
        refuse(y.poly == symbol("ln2"), "exp", "not by log 2")
        size = int(abs(x.ball / y.ball).upper().ceil().fmpz())
        off = off_quotient(self.source, fmpq(size), fmpq(1, 2))
        most = size + 1
        k = self.run.integer(-most, most, "k")
        wide = (arb(off) * y.ball + arb(OFF) + 2 * most * SMALL).upper()
        rest = x.poly.plus(k.poly.times(y.poly), -1)
        self.argument, self.range = (rest, symbol("t"), between(-wide, wide)), wide
        return k

    # --- sums of series

    def _add_to_error(self, z, n, more):
        """Let z be the limit of its series, which must be within ``more`` units."""
        name, variable, coefficients, majorant = self.series
        found = coefficients(max(map(len, z.poly)))
        expected = {(variable,) * i: c for i, c in enumerate(found) if c != 0}
        refuse(z.poly == expected, name, "not Taylor's series")
        x = self.range
        terms = (arb(abs(c)) * x ** len(key) for key, c in z.poly.items())
        left = majorant(x) - sum(terms, arb(0))
        self.share = float((left / self.unit / more).upper())
        refuse(left <= more * self.unit, name, "the series leaves more")
        self._be(z, symbol(name), z.ball + arb(0, 2) * left, name)


def taylor(function):
    """Return degree -> coefficients of a power series."""

    def coefficients(degree):
        ctx.cap = degree + 2
        return list(function(fmpq_series([0, 1])))[: degree + 1]

    return coefficients


def constants(source, n):
    """Prove log 2 and pi; return the share of their errors."""
    shares, x = [], source.number()
    for name, limit in (("ln2", arb(2).log()), ("pi", arb.pi())):
        getattr(source, name)(x, n)
        refuse(all(0 <= word <= fixed_operations.MASK for word in x[:n]), name, "words")
        found = sum((fmpq(x[i]) * unit(i + 1) for i in range(n)), fmpq(0))
        off = abs(limit - arb(found)) / arb(unit(n))
        refuse(off <= source.error(x, n), name, "a larger error")
        refuse(arb(source.error(x, n)) * arb(unit(n)) < SMALL, name, "a larger error")
        shares.append(float(off.upper()) / source.error(x, n))
    return max(shares)


def twice_artanh(s):
    return 2 * s.atanh()


def log(source, n):
    """Prove the logarithm on every way to its reduced argument."""
    shares, found = [], []
    for up in range(4):
        for down in range(4):
            answers = [True] * up + [False] + [True] * down + [False]
            state = State(source, n, answers)
            x = state.named("x", between(fmpq(1, 4) - OFF, 4 + OFF))
            exponent = state.run.integer(-(2**12), 2**12, "e")
            state.series = "log y", "s", taylor(twice_artanh), twice_artanh
            z = Number()
            try:
                state.of("log", ("ln2", arb(2).log()))(z, x, exponent, n)
            except ImpossibleError:
                continue
            found.append((up, down))
            refuse(state.range**2 < arb(2) ** -5, "log", "s^2 is not below 2^-5")
            power = fmpq(2) ** (up - down)
            refuse(state.y == x.poly.times(power), "log", "not x by a power of 2")
            k = exponent.poly.plus(constant(up - down), -1)
            right = symbol("log y").plus(symbol("ln2").times(k))
            refuse(z.poly == right, "log", "not k log 2 + log y")
            shares.append(state.share)
    refuse(max(map(max, found)) < 3, "log", "a long way to the argument")
    return max(shares)


def exp(source, n):
    """Prove the exponential."""
    state, z = State(source, n), Number()
    x = state.named("x", between(-(2**11) - OFF, 2**11 + OFF))
    state.series = "exp t", "t", taylor(lambda t: t.exp()), lambda t: t.exp()
    k = state.of("exp", ("ln2", arb(2).log()))(z, x, n)
    refuse(z.poly == symbol("exp t"), "exp", "not exp t")
    refuse(k.poly == symbol("k"), "exp", "not the k of t")
    refuse(state.range <= arb("0.36"), "exp", "t above 0.36")
    return state.share


def sinc(source, n):
    """Prove sin(pi x)/(pi x)."""
    state, z = State(source, n), Number()
    half = fmpq(1, 2) + OFF
    x = state.named("x", between(-half, half))
    pi_x = arb.pi() * x.ball
    state.argument = symbol("x").times(symbol("pi")), symbol("a"), pi_x
    state.range = abs(pi_x).upper()

    def coefficients(degree):
        return taylor(lambda a: a.sin())(degree + 1)[1:]

    state.series = "sinc", "a", coefficients, lambda a: a.sinh() / a
    state.of("sinc", ("pi", arb.pi()))(z, x, n)
    refuse(z.poly == symbol("sinc"), "sinc", "not the series")
    return state.share


def prove_for(function, source, n):
    """Return the share of what a function's series may leave, in enough bits."""
    before = ctx.prec, ctx.cap
    ctx.prec = 28 * n + 200
    try:
        return function(source, n)
    finally:
        ctx.prec, ctx.cap = before


def prove(source=fixed_point):
    """Prove operations and functions; return what, where, and the share used up.

    It is the share of the units charged for what is dropped; 0 where nothing is.
    """
    fixed_operations.mantissa(source)
    size = fixed_operations.rounded(source)
    shares = {}
    for n in (FEW, MORE, source.WORDS):
        found = fixed_operations.prove_for(source, n)
        for one in (constants, log, exp, sinc):
            found[one.__name__] = prove_for(one, source, n)
        shares = {key: max(x, shares.get(key, 0.0)) for key, x in found.items()}
    where = f"{FEW}, {MORE} and {source.WORDS} words"
    rows = [[f"`{name}`", where, f"{share:.2g}"] for name, share in shares.items()]
    return [["`rounded`", "below 2^50", f"{size:.2g}"], *rows]


if __name__ == "__main__":
    for line in prove():
        print(*line)
