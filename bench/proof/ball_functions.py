"""Prove that log, exp and the sine of the slow steps contain their functions.

That operations on balls contain exact results is proved in ``balls.py``; so a kernel
that is a chain of them contains what it gives in exact arithmetic. Here the kernels run

- on power series, with true coefficients in place of constants, and each must lie
  in its ball, and the whole rest of the series in place of its end in doubles: the
  result must be the function's own series;
- on bounds (``Sum``), for the end of a series in doubles: roundings, coefficients, what
  is left out and the slope of its argument must be in the radius;
- on intervals of computed doubles (``Range``), for the range of the argument there;
- on doubles, for what depends on an exponent: every k is tried.

By hand:

- the series go on like their first ``TERMS`` coefficients, which fall in size;
- |f(x) - f(y)| is at most |x - y| times the largest slope between x and y;
- the exponents that log and scaled_exp find rise with x, so the ends of an interval
  decide;
- the formulas hold for every k if they do for one, as no branch depends on it.
"""

import itertools
import math

from flint import arb, ctx, fmpq, fmpq_series

from bench.proof import rebind
from bench.proof.ball_symbols import (
    LEAST,
    NAMES,
    OPERATIONS,
    SPACE,
    Radius,
    Run,
    U,
    as_double,
    is_normal,
    new_double,
    rational,
    require,
)

TERMS = 48  # of the power series
BITS = 300
UNIT = arb(2) ** -53

# Coefficients of the series; those of the sine are multiples of powers of pi.
SERIES = {
    "log": [fmpq(1, 2 * j + 3) for j in range(TERMS)],
    "exp": [fmpq(1, math.factorial(j + 1)) for j in range(TERMS)],
    "sine": [fmpq((-1) ** j, math.factorial(2 * j + 3)) for j in range(TERMS)],
}
# Largest exponents, of x = z 2^k in log x and of exp x = 2^k exp t.
K_LOG, K_EXP = 1000, 866
T_MOST = arb("0.351")  # of |x - k log 2|


def coefficients(name):
    """Return the true coefficients of a series."""
    pi = arb.pi() ** 2 if name == "sine" else arb(1)
    return [pi ** (j + 1) * arb(c) for j, c in enumerate(SERIES[name])]


def value(ball):
    """Return what a ball of exact parts stands for."""
    if isinstance(ball, float):
        return rational(ball)
    return value(ball[0]) + value(ball[1]) if isinstance(ball, tuple) else ball


def in_exact_arithmetic(formula):
    """Return an operation on what balls stand for, to call instead of a kernel."""

    def operation(_, *balls):
        exact, divisor = formula(*map(value, balls))
        return exact if divisor is None else exact / divisor

    return operation


def sums_of_parts(a, b):
    return value(a) + value(b), 0


def in_exact(balls, name, **instead):
    """Return a copy of a kernel that runs in exact arithmetic.

    ``instead`` has functions to call instead of others, by their names.
    """
    by = {getattr(balls, x): in_exact_arithmetic(f) for x, f in OPERATIONS.items()}
    by |= {getattr(balls, one): lambda _, *a, f=f: f(*a) for one, f in instead.items()}
    names = {"two_sum": sums_of_parts, "two_product": lambda a, b: (a * b, 0)}
    return rebind.Copies(names, by).of(getattr(balls, name))


# --- series --------------------------------------------------------------------------


class FoundError(Exception):
    """Ends a run with what was looked for."""


def stop(x):
    raise FoundError(x)


def stopped(run, *args):
    """Return what ``stop`` was called with."""
    try:
        run(*args)
    except FoundError as found:
        return found.args[0]
    raise ValueError("a run did not come to the end of its series")


def check_constant(ball, truth, name):
    high, low, radius = map(arb, ball)
    require(abs(truth - high - low) <= radius, f"{name}: a constant outside its ball")
    require(abs(low) <= UNIT * abs(high), f"{name}: the low part of a constant")


def check_series(balls, name, kernel, arguments, truth, **instead):
    """Raise unless a kernel, run on a power series, gives that of its function."""
    constants = []
    series = SERIES[name]

    def add(a, b):
        if isinstance(b, tuple):
            constants.append(b)
            b = series[first - len(constants)]
        return value(a) + b

    def last(w):
        total = fmpq_series([0])
        for c in reversed(series[first:]):
            total = total * value(w) + c
        return total

    first = terms_in_balls(getattr(balls, f"{name}_first"))
    run = in_exact(balls, kernel, add=add, **{f"{name}_last": last}, **instead)
    result = run(*arguments)
    found = value(result[1] if kernel == "scaled_exp" else result)
    difference = found - truth
    known = difference.prec >= TERMS - 8
    require(known and not any(difference.coeffs()), f"{kernel} is not its series")
    require(len(constants) == first, f"{kernel}: constants")
    truths = coefficients(name)[:first][::-1]
    for ball, c in zip(constants, truths, strict=True):
        check_constant(ball, c, kernel)


def terms_in_balls(kernel):
    """Return how many constants a sum of Horner's scheme has."""
    count = 0
    while kernel.__closure__:
        kernel, count = rebind.inside(kernel, "further"), count + 1
    return count


def check_formulas(balls):
    """Raise unless the kernels are the series of their functions."""
    ctx.cap = TERMS
    x = fmpq_series([0, 1])
    z = (1 + x) / (1 - x)
    own = {"shift": lambda a, power: z, "ln2_times": lambda k: fmpq(355, 113) + 0 * x}
    truth = fmpq(355, 113) + z.log()
    check_series(balls, "log", "log", ((1.0, 0.0, 0.0), 0.0), truth, **own)
    own = {"subtract": lambda a, b: x, "ln2_times": lambda k: None}
    check_series(balls, "exp", "scaled_exp", ((0.1, 0.0, 0.0),), x.exp() - 1, **own)
    check_series(balls, "sine", "sine_excess", (x,), x / x.sin() - 1)
    power, m = SPACE.gen(0), SPACE.gen(1)
    for name, truth in (("exp", power * (1 + m)), ("expm1", power * (1 + m) - 1)):
        found = value(in_exact(balls, name)(power, m))
        require(found == truth, f"{name} is not its formula")


# --- ends of series in doubles -------------------------------------------------------


class Sum:
    """A sum of Horner's scheme in doubles, for |x| up to ``most``.

    It has the coefficients of the exact sum of the same doubles, a bound of its own
    error, and one of its absolute value.
    """

    most = None

    def __init__(self, numbers, error):
        self.numbers, self.error = numbers, error

    def largest(self):
        sizes = (abs(c) * Sum.most**j for j, c in enumerate(self.numbers))
        return sum(sizes, fmpq(0)) + self.error

    def __abs__(self):
        Run.now.sum = Run.now.symbol()
        return Radius(Run.now.sum, Run.now.sum)


def fma_of_sums(total, x, number):
    require(x is Sum, "not a sum of Horner's scheme")
    if total == 0.0:
        return Sum([rational(number)], fmpq(0))
    exact = Sum([rational(number), *total.numbers], total.error * Sum.most)
    return Sum(exact.numbers, exact.error + U * exact.largest() + LEAST)


def prove_tail(balls, name, most):
    """Return the shares of the radius of a series' end that are needed, |x| <= most.

    The first is that of the sum, the second that of the argument's radius.
    """
    Sum.most, run = rational(most), Run()
    widest = Radius(*[run.symbol()] * 2)
    kernel = rebind.Copies({"fma": fma_of_sums}).of(getattr(balls, f"{name}_last"))
    total, low, radius = kernel((Sum, 0.0, widest))
    require(low == 0.0, f"{name}: a low part")
    numbers = total.numbers
    first = terms_in_balls(getattr(balls, f"{name}_first"))
    truth = coefficients(name)[first:]
    size, most = len(numbers), arb(Sum.most)
    for a, b in itertools.pairwise(truth[: size + 1]):
        require(abs(b) * most < abs(a) / 8, f"{name}: terms fall too slowly")

    def bound(terms, power=0):
        return sum((abs(c) * most ** (j - power) for j, c in terms), arb(0))

    # The terms left out and those of the slope fall by half at least, so the first of
    # them counts twice.
    left = 2 * abs(truth[size]) * most**size
    slope = bound([(j, j * c) for j, c in enumerate(truth[:size])], 1)
    slope += 2 * size * abs(truth[size]) * most ** (size - 1)
    off = enumerate(c - arb(n) for c, n in zip(truth, numbers, strict=False))
    needed = arb(total.error) + bound(off) + left + UNIT * most * slope
    least = 2 * abs(truth[0]) - bound(enumerate(truth)) - needed
    terms = radius.low.to_dict()
    by_sum, by_radius, by_eta = (
        arb(terms[one.monoms()[0]]) for one in (run.sum, widest.up, run.eta)
    )
    known = least > 0 and by_sum > 0 and by_radius > 0
    shares = (needed - by_eta * arb(LEAST)) / least / by_sum, slope / by_radius
    holds = known and all(share <= 1 for share in shares)
    require(holds, f"{name}: the end of the series is not in its ball")
    return shares


# --- ranges of arguments -------------------------------------------------------------


class Range:
    """An interval that holds a computed double."""

    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return nearest(self.x + interval(other))

    def __sub__(self, other):
        return nearest(self.x - interval(other))

    def __mul__(self, other):
        return nearest(self.x * interval(other))

    def __truediv__(self, other):
        return nearest(self.x / interval(other))

    def __neg__(self):
        return Range(-self.x)

    def __abs__(self):
        return Range(abs(self.x))

    def __le__(self, other):
        return bool(self.x <= interval(other))

    __radd__, __rmul__ = __add__, __mul__


def interval(x):
    return x.x if isinstance(x, Range) else arb(x)


def around(size):
    """Return the interval of numbers that are at most ``size``."""
    return arb(0, abs(size).upper())


def nearest(x):
    """Return the interval of the doubles nearest to the numbers of one."""
    return Range(x + around(UNIT * abs(x) + arb(LEAST)))


def with_rest(exact):
    high = nearest(exact)
    return high, Range(around(UNIT * high.x))


IN_RANGES = {
    "two_sum": lambda a, b: with_rest(interval(a) + interval(b)),
    "two_product": lambda a, b: with_rest(interval(a) * interval(b)),
    "fma": lambda a, b, c: nearest(interval(a) * interval(b) + interval(c)),
}


def hull(a, b):
    return arb(a).union(arb(b))


def largest(numbers):
    """Return a double that is not below the absolute values of numbers."""
    require(all(x.is_finite() for x in numbers), "an argument without bounds")
    most = max(float(abs(x).upper()) for x in numbers)
    return math.nextafter(most, math.inf)


def words(high):
    """Return a ball of any radius, whose high is in an interval."""
    return Range(high), Range(around(UNIT * high)), Range(arb("nan"))


def in_ranges(balls, name, **instead):
    by = {getattr(balls, one): lambda _, *a, f=f: f(*a) for one, f in instead.items()}
    return rebind.Copies(IN_RANGES, by).of(getattr(balls, name))


def log_argument(balls, pieces=1024):
    """Return a bound of w in the logarithm: of what is computed, and of what is meant.

    z runs from the double of _SQRT_HALF_BITS to twice it; the relative radius is at
    most _NARROW.
    """
    start = arb(balls.from_bits(balls._SQRT_HALF_BITS))
    found = []
    for i in range(pieces):
        z = start * hull(1 + fmpq(i, pieces), 1 + fmpq(i + 1, pieces))
        run = in_ranges(balls, "log", shift=lambda *_, z=z: words(z), log_last=stop)
        w, _, _ = stopped(run, (1.0, 0.0, 0.0), 0.0)
        meant = z * (1 + around(UNIT + balls._NARROW))
        s = (meant - 1) / (meant + 1)
        found += [w.x, s * s]
    return largest(found)


def exp_argument(balls):
    """Return a bound of t in the exponential, computed and meant."""
    found = [T_MOST + K_EXP * UNIT + balls._SHORT]
    run = in_ranges(balls, "subtract")
    for k in range(-K_EXP, K_EXP + 1):
        x = arb.const_log2() * k + around(T_MOST)
        t, _, _ = run(words(x), balls.ln2_times(float(k)))
        found.append(t.x)
    return largest(found)


def sine_argument(balls):
    """Return a bound of w in the sine, and raise unless its ball holds e^2."""
    run, (e, exact, _) = Run(), new_double("e")
    kernel = rebind.Copies(NAMES, {balls.sine_last: lambda _, w: stop(w)})
    high, low, radius = stopped(kernel.of(balls.sine_excess), e)
    high, low = as_double(high), as_double(low)
    off = run.bound(exact * exact - high.exact - low.exact)
    inside = is_normal(high, low) and run.is_positive(Radius.of(radius).low - off)
    require(inside, "the sine's argument is not the square")
    e = Range(around(arb(0.51)))
    w, _, _ = stopped(in_ranges(balls, "sine_excess", sine_last=stop), e)
    return largest([w.x, e.x * e.x])


# --- exponents and multiples of log 2 ------------------------------------------------


def check_multiples(balls):
    """Raise unless every multiple of log 2 lies in its ball."""
    for k in range(-(2**11), 2**11 + 1):
        high, low, radius = map(arb, balls.ln2_times(float(k)))
        holds = abs(high + low - k * arb.const_log2()) <= radius
        require(holds and abs(low) <= UNIT * abs(high), f"ln2_times: {k} log 2")


def check_log_exponents(balls):
    """Raise unless log takes k with x/2^k from the double of _SQRT_HALF_BITS to twice.

    It is tried at both ends of each k, with the widest ball allowed and a wider one.
    """
    seen = []
    run = in_exact(
        balls, "log", shift=lambda *args: seen.append(args) or fmpq(1),
        ln2_times=lambda k: seen.append(k) or fmpq(0),
        log_first=lambda w, t: fmpq(0), log_last=lambda w: fmpq(0),
    )  # fmt: skip

    def check(k, high, radius, given):
        seen.clear()
        run((high, 0.0, radius), -600.0)
        own = ((high, 0.0, given), 2.0**-k), k - 600.0
        require(seen == [*own], f"log: the exponent {k} or the radius allowed")

    first = balls._SQRT_HALF_BITS
    for k in range(-K_LOG, K_LOG + 1):
        for number in (first, first + 2**52 - 1):
            high = balls.from_bits(number + (k << 52))
            widest = balls._NARROW * high
            check(k, high, widest, widest)
            check(k, high, math.nextafter(widest, math.inf), math.inf)


def check_exp_exponents(balls):
    """Raise unless scaled_exp takes k with |x - k log 2| <= T_MOST, for |x| <= 600."""
    seen = []
    run = in_exact(
        balls, "scaled_exp", subtract=lambda a, b: seen.append((a, b)) or fmpq(0),
        ln2_times=lambda k: k,
        exp_first=lambda t, last: fmpq(0), exp_last=lambda t: fmpq(0),
    )  # fmt: skip

    def exponent(x):
        seen.clear()
        power, _ = run((x, 0.0, 0.0))
        ((of, k),) = seen
        require(of == (x, 0.0, 0.0), "scaled_exp: what multiples are subtracted from")
        require(power == 2.0**k, f"scaled_exp: the power of 2 at {x}")
        return k

    for k in range(-K_EXP, K_EXP + 1):
        middle, off = k * math.log(2.0), float(T_MOST) - 2.0**-20
        above, below = exponent(middle + off), exponent(middle - off)
        require(above > k > below, f"scaled_exp: k = {k} is not next to x/log 2")
    ends = exponent(-600.0) >= -K_EXP and exponent(600.0) <= K_EXP
    require(ends and exponent(0.34) == exponent(-0.34) == 0, "scaled_exp: exponents")
    run((1.0, 0.0, math.nextafter(balls._SHORT, 1.0)))
    require(seen[-1][0][2] == math.inf, "scaled_exp: a wide ball")


def prove(balls):
    """Return rows: the function, where, and shares of its series' radius needed.

    The shares are those of the sum in doubles and of the radius of its argument.
    """
    ctx.prec, ctx.cap = BITS, TERMS
    check_formulas(balls)
    check_multiples(balls)
    check_log_exponents(balls)
    check_exp_exponents(balls)
    rows = [["k log 2", "k from -2^11 to 2^11", ""]]
    for name, function, where, bound in (
        ("log", "log x", "x from 2^-1000 to 2^1000, w", log_argument),
        ("exp", "exp x, exp x - 1", "x from -600 to 600, t", exp_argument),
        ("sine", "pi e/sin(pi e) - 1", "e from -0.51 to 0.51, w", sine_argument),
    ):
        most = bound(balls)
        shares = [f"{float(x.upper()):.2f}" for x in prove_tail(balls, name, most)]
        rows.append([function, f"{where} up to {most:.4f}", ", ".join(shares)])
    return rows
