"""Prove that `risk_in_words` is r, if operations in fixed point hold their bounds.

The source runs on numbers that are rational functions and ranges (`words.py`): for f
and p in boxes that hold all doubles f and p = a/b, 0 < a < b. The function must be the
formula for r, up to the power of two that is returned; no operation may leave its
domain. The error is the operations' own, so nothing of it is to be proved but the start
of `_e`, which must hold all of [p, 1].

By hand remain:

- the formulas: tails lie in [p, 1] and E = X_1/(f + X_1); r = p/D; contiguity and
  reflection; r >= p/f, and r >= v^f/(2 f) for p <= 1/2;
- an operation's words are off from those of its operands by less than 2^-150;
- a loop of n passes does what the first n passes of a longer one do.
"""

import itertools
import math

from bench.proof.check import same
from bench.proof.rebind import Copies
from bench.proof.words import (
    LARGEST,
    ONE,
    OPERATIONS,
    SYMBOL,
    AbsentError,
    Double,
    Exponent,
    Number,
    Range,
    Run,
    UnprovedError,
    power_of_two,
)
from riskcore.core.special import fixed_point
from riskcore.core.special.gauss import fixed_point_step as step

DELTA = 2.0**-100  # more than X may be off from [p, 1] by what operations drop
T_MOST = 2.0**16
EXPONENTS = -2098, 2098
LEVELS, STEPS = 640, 1023
# What `side` may take for granted of r 2^-s.
RISK_LEAST, RISK_MOST = 2.0**-61, 2.0**26


# --- the fraction's levels -----------------------------------------------------------


class Levels(Run):
    """`_e`: a level gets X in [p, 1], up to ``DELTA``, and must return such a one."""

    def __init__(self, f_least, p_range):
        super().__init__(instead={"_levels": lambda *_: LEVELS})
        self.f_least, self.p_range, self.m = f_least, p_range, LEVELS
        del self.copies.instead[step._e]

    def error(self, x, n):
        return SYMBOL["R"]

    def units(self, n):
        return SYMBOL["U"]

    def set_error(self, x, n, bound):
        """Take any tail for the start, if the bound holds all of [p, 1].

        p_double is off by 2^-49, sums are rounded to 2^-53: 2^-40 is more.
        """
        p = SYMBOL["p"]
        same(x.exact, (p + 1) / 2)
        same(bound, SYMBOL["R"] + ((-p + 1) / 2 + 2.0**-40) / SYMBOL["U"])
        self.x = x
        self.renew()

    def renew(self):
        least = max(self.p_range.low, 0.0) - DELTA
        self.x.exact, self.x.range = SYMBOL["X"], Range(least, 1 + DELTA)

    def subtracted(self, z):
        """Take X again, if a level is (p b + k X)/(b + k X): a mean of p and 1.

        For X >= 0; below 0 it is off by k/b of that.
        """
        m, X, p = self.m, SYMBOL["X"], SYMBOL["p"]
        k, b = 1 + (m + 1) // 2, SYMBOL["M"] * SYMBOL["F"] + m // 2
        same(z.exact, (p * b + X * k) / (b + X * k))
        share = k / (self.f_least + m // 2)
        if not (self.p_range.low > 0.25 or share < 0.9):
            raise UnprovedError("X may leave [p, 1]")
        self.m, self.x = m - 1, z
        self.renew()


def check_e():
    """Raise unless `_e` is X_1/(f + X_1), from any tail; return the number of boxes."""
    if (
        max(step._levels(f, p, fixed_point.WORDS) for f, p in ((1, 0.3), (1, 0.2)))
        > LEVELS
    ):
        raise UnprovedError("more levels than are run")
    far, near = Range(0.29, 1), Range(0, 0.31)
    ways = [(s, s, 2.0 ** (s - 1), far) for s in range(1, 12)]
    ways += [(12, 1024, 2048.0, far), (11, 11, 1024.0, near), (12, 1024, 2048.0, near)]
    cases = [(Exponent({"F": 1}, a, b), Range(0.5, 1), *rest) for a, b, *rest in ways]
    cases += [(0, Range(1, 2), 1.0, far), (0, Range(0.499, 1.501), 0.499, far)]
    for s, g_range, f_least, p_range in cases:
        run, z, p = Levels(f_least, p_range), Number(), SYMBOL["p"]
        one = Exponent.of(s).power()
        f = SYMBOL["M"] * SYMBOL["F"]
        g = Number(f / one, g_range)
        words = Number(p, p_range), Number(-p + 1, -p_range + 1.0)
        run("_e", z, None, p, g, s, *words, 7)
        X = SYMBOL["X"]
        same(z.exact, X / (f + X) * one)
        if run.m != 0:
            raise UnprovedError("levels that were not run")
    return len(cases)


# --- the branches --------------------------------------------------------------------


class Branch(Run):
    """`risk_in_words` for f and p of a box; of `_e` it takes what `Levels` shows."""

    def __init__(self, p_box, small, f, mantissas=(), known=(), **options):
        (low, high), self.small = p_box, small
        p = Range(power_of_two(low - 1), power_of_two(high + 1))
        edge = Range(0, P_LEVELS + 2.0**-40) if small else Range(P_LEVELS - 2.0**-40, 1)
        p = p.narrowed(edge)
        ratio = Range(0.5, 2)
        if low == high:
            ratio = ratio.narrowed(p / power_of_two(low))
        A, B = SYMBOL["A"], SYMBOL["B"]
        self.p_scale = Exponent({"P": 1, "Q": -1}, low, high)
        self.p = A * SYMBOL["P"] / (B * SYMBOL["Q"])
        self.q = -self.p + 1
        of_p = [(self.p, p), (self.q, -p + 1.0), (A / B, ratio)]
        super().__init__([*of_p, *known], **options)
        half = Range(0.5, 1)
        a = Double(0.5, 1.0, A * SYMBOL["P"])
        b = Double(0.5, 1.0, B * SYMBOL["Q"])
        self.asked["mantissas"] = [
            (a.exact, A, half, Exponent({"P": 1}, low, high)),
            (b.exact, B, half, Exponent({"Q": 1}, 0, 0)),
            *mantissas,
        ]
        self.f, self.z, self.T = f, Number(), None
        self.asked["v"] = self.p / self.q
        self.prepare()
        self.size = Exponent.of(self("risk_in_words", self.z, f, a, b, 7))

    def prepare(self):
        """Set what is known before the run."""

    def subtracted(self, z):
        """Take what a pass of the loop of contiguity gives for the next T."""
        if "g" in self.asked:
            v, g = self.asked["v"], self.asked.pop("g")
            same(z.exact, ONE / g - v * self.T)
            self.asked["last"], self.T, z.exact = g + 1, SYMBOL["T"], SYMBOL["T"]
            if not z.range.inside(-T_MOST, T_MOST):
                raise UnprovedError("T is too large for the next pass")

    def rounded(self, x):
        """Return p as a double, which has been compared with 0.3; or q."""
        if x.exact.above * self.p.below == self.p.above * x.exact.below:
            ends = (0.0, math.nextafter(P_LEVELS, 0)) if self.small else (P_LEVELS, 1.0)
        else:
            ends = 0.69, 1.0
        return Double(*ends, x.exact)

    def returned(self):
        """Return what z 2^s is."""
        return self.z.exact * self.size.power()

    def check(self, r, f, p, least):
        """Raise unless the result is r by E(f, p), r 2^-s neither small nor large."""
        same(self.returned(), r)
        if f is not None:
            same(self.asked["f"], f)
            same(self.asked["p"], p)
        if not (least > RISK_LEAST and self.z.range.high < RISK_MOST):
            raise UnprovedError(
                f"r 2^-s, {least} or {self.z.range.high}, is not fit for `side`"
            )


P_LEVELS = 0.3  # compared with the source's by `Double`: another one divides a case
LARGE_P = (-2, 0)
SMALL_P = [(-1, -1), (-2, -2)]
while SMALL_P[-1][0] > EXPONENTS[0]:
    high = SMALL_P[-1][0] - 1
    SMALL_P.append((max(EXPONENTS[0], high * 3 // 2), high))


def f_of(low, high):
    """Return f = M F from 2^(low - 1) to below 2^high, and its mantissa."""
    f = SYMBOL["M"] * SYMBOL["F"]
    exponent = Exponent({"F": 1}, low, high)
    ends = math.ldexp(1.0, low - 1), math.nextafter(power_of_two(high), 0)
    return Double(*ends, f), [(f, SYMBOL["M"], Range(0.5, 1), exponent)]


def check_fractions():
    """Raise unless `_by_fraction` and `_below_one` are r; return the number of runs."""
    E, count = SYMBOL["E"], 0
    whole = [(s, s) for s in range(1, 12)] + [(12, 1024)]
    cases = [(box, LARGE_P, False) for box in [(-1073, 0), *whole]]
    cases += [(box, EXPONENTS, True) for box in whole[-2:]]
    for box, p_box, small in cases:
        f, mantissas = f_of(*box)
        if small:
            p_box = EXPONENTS[0], -1
        known = [(f.exact, Range(0, 1))] if box[1] < 1 else []
        run = Branch(p_box, small, f, mantissas, known)
        p, w = run.p, run.p + run.q * E
        if box[1] < 1:
            r, f_e = (p * f.exact + w) / (f.exact * (f.exact + w)), f.exact + 1
        else:
            r, f_e = p / (f.exact - 1 + w), f.exact
        run.check(r, f_e, p, run.z.range.low)
        count += 1
    return count


# --- contiguity ----------------------------------------------------------------------


class Contiguity(Branch):
    """f = n + e; T before the loop is known, any, or T(f - 1), between 0 and 1."""

    def __init__(self, p_box, n, e, f, exponent, known, large, start=None):
        self.n, self.e_, self.passed = n, e, start is not None
        mantissa = [] if e is None else [(e, SYMBOL["G"], Range(0.5, 1), exponent)]
        size = SYMBOL["G"] * SYMBOL["H"]
        mantissas = [(size, SYMBOL["G"], Range(0.5, 1), exponent)] if mantissa else []
        mantissas.append((f.exact, None, None, None))
        instead = {"_reflected": self.any_of} if start == ANY else {}
        instead["_last_steps"] = lambda *_: 1 if start == LAST else STEPS + 1
        super().__init__(p_box, True, f, mantissas, known, instead=instead, large=large)

    def any_of(self, z, *_):
        """Let z be any T that a pass of the loop may start from."""
        self.put(z, SYMBOL["T"], Range(-T_MOST, T_MOST))
        return 0

    def units(self, n):
        return SYMBOL["U"]

    def set_error(self, x, n, bound):
        """Take any T for the start, if the bound holds all from 0 to 1."""
        same(x.exact, ONE / 2)
        same(bound, ONE / 2 / SYMBOL["U"])
        self.put(x, SYMBOL["T"], Range(0, 1))

    def prepare(self):
        L, E, e = SYMBOL["L"], SYMBOL["E"], self.e_
        if self.passed:
            self.T = SYMBOL["T"]
        elif e is None:
            self.T = -L
        else:
            D = self.q - e + self.p * E
            self.times_e = SYMBOL["W"] / SYMBOL["S"] - e * self.p / D
            self.T = (-self.times_e + 1) / e

    def checked(self):
        """Raise unless it is r, and functions got the arguments that they must have."""
        e, v = self.e_, self.asked["v"]
        if not self.passed:
            same(self.asked["log"], self.p if e is None else v)
        if e is not None and not self.passed:
            same(self.asked["exp"], e * SYMBOL["L"])
            sinc = self.asked["sinc"]
            same(sinc * sinc, e * e)
            if not -0.5 <= self.asked["double"].low <= self.asked["double"].high <= 0.5:
                raise UnprovedError("f is not next to the integer of its steps")
        r = self.times_e / e if self.n == 0 else v * self.T
        if self.n > 1:
            same(self.asked.get("last", ONE), self.f.exact)
        reflected = e is not None and not self.passed
        self.check(r, -e + 1 if reflected else None, self.q, self.least())

    def least(self):
        """Return a lower bound of r 2^-s, by r >= p/f and, p < 1/2, r >= v^f/(2f)."""
        own = self.size - self.p_scale
        names = {k: c for k, c in own.names.items() if c}
        if not names or names == {"": 0}:
            return 0.5 / self.f.high
        more = self.asked["K"].low / (2 * self.f.high)
        if names == {"K": 1} and self.n == 1:
            return 0.5 * more  # v 2^-p_scale is above 1/2
        names = {k: c for k, c in self.size.names.items() if c}
        if names == {"K": 1, "H": -1} and self.n == 0:
            return self.asked["K"].low / 2  # 2 e 2^-s_e is below 2
        raise UnprovedError("a result with an unknown power of two")


def near(n, sign, k):
    """Return f = n + e, |e| from 2^(k-1) to below 2^k, and e; None for no doubles."""
    a, b = n + sign * 2.0 ** (k - 1), n + sign * 2.0**k
    if k == 0:
        b = a  # -1/2 alone
    low, high = (a, math.nextafter(b, 0)) if sign > 0 else (math.nextafter(b, 9999), a)
    low, high = (low, high) if k < 0 else (a, a)
    low = max(low, ABOVE_HALF)
    if low > high or low <= n <= high:
        return None
    e = SYMBOL["G"] * SYMBOL["H"] * sign
    return Double(low, high, e + n), e


def contiguities():
    """Yield the cases of `_by_contiguity`: p, n, e, f, e's exponent, |e|, a start."""
    size = SYMBOL["G"] * SYMBOL["H"]
    for p_box in SMALL_P:
        f = Double(5e-324, 0.5, size)
        known = [(size, Range(0, 0.5))]
        yield p_box, 0, size, f, Exponent({"H": 1}, -1073, 0), known, None
        for n in (1, 2, STEPS):
            yield p_box, n, None, Double(n, n, ONE * n), None, [], None
        for n in (4, STEPS):
            yield p_box, n, None, Double(n, n, ONE * n), None, [], LAST
        for n in (1, 2):
            for sign in (-1, 1):
                for k in range(-52, 1 if sign < 0 else 0):
                    found = near(n, sign, k)
                    if found:
                        f, e = found
                        known = [(size, Range(2.0 ** (k - 1), min(2.0**k, 0.5)))]
                        yield p_box, n, e, f, Exponent({"H": 1}, k, k), known, None
        for n, sign, ends, start in (
            (1024, -1, (1023.5, BEFORE), ANY),
            (1023, 1, (AFTER, math.nextafter(1023.5, 0)), ANY),
            (4, -1, (3.5, math.nextafter(4.0, 0)), LAST),
            (1023, 1, (AFTER, math.nextafter(1023.5, 0)), LAST),
        ):
            f = Double(*ends, size * sign + n)
            known = [(size, Range(2.0**-53, 0.5))]
            yield p_box, n, size * sign, f, Exponent({"H": 1}, -52, 0), known, start


ANY, LAST = "any", "last"
ABOVE_HALF = math.nextafter(0.5, 1)
BEFORE, AFTER = math.nextafter(1024.0, 0), math.nextafter(1023.0, 9999)


def check_contiguity(every=1):
    """Raise unless `_by_contiguity` is r; return the number of runs."""
    count = 0
    for *case, start in itertools.islice(contiguities(), 0, None, every):
        for large in (False, True):
            try:
                Contiguity(*case, large, start).checked()
                count += 1
            except AbsentError:
                pass
    return count


def check_steps():
    """Raise unless e and e + step are exact, |e| <= 1/2, for all f < 1024.

    The first is above 2, if the steps start at T(f - ``last``).
    """
    found, last = [], 0

    def set_double(_, z, n, x):
        found.append(x)
        if x.exact is None:
            raise UnprovedError("a double that is rounded")

    instead = {
        getattr(fixed_point, name): lambda *_: None for name in OPERATIONS.split()
    }
    instead |= {fixed_point.set_double: set_double, step._reflected: lambda *_: 0}
    instead |= {step._last_steps: lambda *_: last, fixed_point.units: lambda *_: 1.0}
    copies = Copies({"int": Run.integer}, instead)
    for last, n in itertools.product((1, 7, STEPS + 1), range(1, STEPS + 2)):
        below = Double(max(n - 0.5, ABOVE_HALF), math.nextafter(n, 0), 0.0)
        above = Double(math.nextafter(n, 9999), math.nextafter(n + 0.5, 0), 0.0)
        for f in (below, above):
            found.clear()
            copies.of(step._by_contiguity)(None, f, 0, None, None, None, 7)
            start = n - last if n - 1 - last >= 2 else 1
            near = [i - 0.5 <= x.low <= x.high <= i + 0.5
                    for i, x in enumerate(found, start)]  # fmt: skip
            near.append(start == 1 or found[0].low > 2.0)
            if len(found) != n - start or not all(near):
                raise UnprovedError("steps that do not lead to f")
    return STEPS + 1


def prove():
    """Raise unless `risk_in_words` is r; return rows of what was run."""
    rows = []
    for what, check, unit in (
        ("E by levels", check_e, f"boxes of {LEVELS} levels"),
        ("r by the fraction", check_fractions, "boxes"),
        ("r by contiguity and reflection", check_contiguity, "boxes"),
        ("f - n and f - n + step", check_steps, "n"),
    ):
        Run.largest = 0.0
        count = check()
        used = f"numbers to {Run.largest / LARGEST:.2g} of 2^27" if Run.largest else ""
        rows.append([what, f"{count} {unit}", used])
    return rows
