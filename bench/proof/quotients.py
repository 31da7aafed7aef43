"""Prove r at p = f/F, given pairs and balls of r at the rounded quotient p.

With f/F = p (1 + y) it is r(f, p) (1 + C y), up to y^2 of it, C = 1 - E: slopes of the
fraction's levels are compared as polynomials, and two terms of exp and log enclosed by
Arb. The kernels' source computes C and bounds of errors on numbers that are polynomials
in what is not negative, up to others that bound what roundings do (`Near`): so
coefficients are compared. The limits for p below 2^-960 run as `risk_ball` does in
`enclosure.py`. By hand remain:

- C(f, p) is the limit of what levels make of the tail p; p/(f+p) <= E <= 1/(f+1);
- y p F = f - p F, a double, as p is the rounded quotient and nothing underflows; so
  |y| <= u, and |y - d| <= (u + |y|) |d| for the computed d; products in bounds are 0 or
  normal numbers, as r 2^(600 n) > 2^-900 and d is 0 or above 2^-107;
- for p <= 2^-959 r is off from its limit by less than 2^-478 of it: that share is
  (f-1) r(f-1) < 2 v^(1/2) for f > 3/2, v r(1-f, q)/r < 2 v^(1/2) for f <= 1/2, as
  r >= v^f/(2f), and less than p (9 + |log p|) between them; v = p/q.
"""

import math

from flint import Ordering, arb, arb_series, fmpq, fmpq_mpoly_ctx

from bench.proof import enclosure
from bench.proof.check import generators, same
from bench.proof.rebind import Copies
from bench.proof.words import UnprovedError, plain
from riskcore.core.risk import individual
from riskcore.core.special.gauss import ball_step, extremes

U = fmpq(1, 2**53)
# D/q, C, q, p, so f is F; l <= E <= l + h, 1 = l + h + w; high, |d|, a share, radius.
NAMES = "B", "C", "Q", "P", "L", "H", "W", "R", "D", "S", "radius"
B, C, Q, P, L, H, W, R, D, S, RADIUS = fmpq_mpoly_ctx.get(NAMES, Ordering.lex).gens()
F, ONE = Q * (B + C), L + H + W
NONE = ONE * 0
QUOTIENTS = [(P, F + P, L), (ONE, F + ONE, L + H), (F, F + ONE, W), (P, R, Q * B)]


def positive(polynomial):
    return all(c >= 0 for c in polynomial.coeffs())


def outweighs(given, needed):
    """Raise unless a bound is at least another one, coefficient by coefficient."""
    if not positive(given - needed):
        raise UnprovedError("a bound of an error that is too small")


def put(polynomial, **values):
    """Return a polynomial with numbers or others in place of symbols."""
    gens = zip(NAMES, polynomial.context().gens(), strict=True)
    return polynomial.compose(*(NONE + values.get(name, x) for name, x in gens))


class Near:
    """A computed number: a polynomial, up to ``off``, another one."""

    answers = moved = asked = ()

    def __init__(self, exact, off=NONE, of_p=False):
        self.exact, self.off, self.of_p = exact, off, of_p

    @staticmethod
    def of(x):
        return x if isinstance(x, Near) else Near(ONE * fmpq(*x.as_integer_ratio()))

    def size(self):
        if not positive(self.exact):
            raise UnprovedError("a number of both signs")
        return self.exact + self.off

    def rounded(self):
        return Near(self.exact, self.off + self.size() * U)

    def __add__(self, other):
        other = Near.of(other)
        return Near(self.exact + other.exact, self.off + other.off).rounded()

    def __neg__(self):
        return Near(-self.exact, self.off)

    def __sub__(self, other):
        return self + -Near.of(other)

    def __rsub__(self, other):
        """Return c - x; 1 - p is q."""
        return (
            Near(Q).rounded() if self.of_p and other == 1.0 else Near.of(other) - self
        )

    def __mul__(self, other):
        if isinstance(other, Name):
            self.moved.append(self)
            return Name("C d") if other == DISTANCE else None
        if isinstance(other, float):
            c = fmpq(*other.as_integer_ratio())
            product = Near(self.exact * c, self.off * c)
            return product if math.frexp(other)[0] == 0.5 else product.rounded()
        off = self.size() * other.off + other.exact * self.off
        return Near(self.exact * other.exact, off).rounded()

    def __truediv__(self, other):
        """Return a quotient, by a number up to a share of it; a symbol if need be."""
        if isinstance(other, High):
            return Near(Q * B, Q * B * S).rounded()
        share = other.off / other.exact
        if not share.is_constant():
            raise UnprovedError("a divisor with another error")
        share = share.coeffs()[0] if share else fmpq(0)
        known = [z for x, y, z in QUOTIENTS if (x, y) == (self.exact, other.exact)]
        exact = known[0] if known else self.exact / other.exact
        off = self.off if known and not self.off else self.off / other.exact
        return Near(exact, (off + exact * share) / (1 - share)).rounded()

    def __rtruediv__(self, other):
        return Near.of(other) / self

    def __abs__(self):
        return self

    def __lt__(self, other):
        self.asked.append((self.exact, other))
        return Near.answers.pop(0)

    __gt__, __radd__, __rmul__ = __lt__, __add__, __mul__


# --- the mathematics -----------------------------------------------------------------


def check_slopes():
    """Raise unless C is in [0, 1], and falls by at most 1/4 as log p rises.

    C = dlog r/dlog p. A level has dlog X_n/dlog p <= 1 if X_n+1 has, and E the slope
    f X/(f + X)^2 times that of X. So y^2 is more than what C y leaves of r.
    """
    p, b, k, x, s = generators("p", "b", "k", "x", "s")
    above, below, q = p * b + k * x, b + k * x, 1.0 - p
    slope = p * b * below + q * k * b * x * s
    # d/dlog p of above/below, over it: that of p is p, of x is x s.
    same((p * b + k * x * s) / above - k * x * s / below, slope / (above * below))
    same(p * b * below + q * k * b * x, b * above)  # s = 1: at most b/below
    same((b + x) * (b + x) - 4.0 * b * x, (b - x) * (b - x))  # f is b
    log, fall = arb_series([1, 1], 4).log(), arb(-0.125, 0.125)
    found = (arb(0.5, 0.5) * log + fall / 2 * log * log).exp()  # 1 + C y + ...
    rest = abs(found[3]) * 2 + 1  # and all further terms, |y| <= 2^-53
    if not abs(found[2]) + rest * 2.0**-52 < arb(SECOND):
        raise UnprovedError("more than y^2")


# --- the ball ------------------------------------------------------------------------


def check_condition():
    """Raise unless C is within its bound, that of E at most 1, for D within 4 units."""
    f, p, found = Near(F), Near(P, of_p=True), []
    D = Near(Q * B, 4 * U * Q * B + Q * ONE / 2**800)  # it may underflow for tiny f
    Near.asked = []
    for Near.answers in ([True], [False]):
        found.append(Copies({}).of(ball_step.condition)(f, p, D))
    (by_risk, its), (middle, half) = found
    if by_risk.exact != C or middle.exact != H / 2 + W:
        raise UnprovedError("C by another formula")
    outweighs(its.exact - its.off, by_risk.off)
    outweighs(half.exact - half.off, middle.off + H / 2)
    outweighs(ONE, half.exact + half.off)


class Name(str):
    """What an expression says; comparisons have answers given."""

    answers = ()

    def __neg__(self):
        return Name(f"-{self}")

    def __abs__(self):
        if self != DISTANCE:
            raise UnprovedError("another distance of p")
        return Near(D)

    def __mul__(self, other):
        return Name(f"({self} {other})")

    def __truediv__(self, other):
        return Name(f"({self}/{other.exact if isinstance(other, Near) else other})")

    def __lt__(self, other):
        return Name.answers.pop(0)


DISTANCE = "(fma(-(f/F), (F {0}), (f {0}))/(f {0}))"


def check_ball():
    """Raise unless the ball of r(f, p) is moved by C d, and widened enough."""
    global DISTANCE
    ball, usual = (Near(R), Name("low"), Near(RADIUS)), DISTANCE
    names = {"fma": lambda *x: Name(f"fma({', '.join(x)})")}

    def asked(*wanted, answer):
        def function(*given):
            if given != wanted:
                raise UnprovedError(f"{given} instead of {wanted}")
            return answer

        return function

    p = Name("(f/F)")
    stubs = plain({
        extremes.rare_risk: asked("f", "F", answer=(ball, "n")),
        ball_step.risk_ball: asked("f", p, answer=(ball, "n")),
        ball_step.scaled: asked(p, "n", answer=Name("x")),
        ball_step.condition: asked("f", p, "(x/R)", answer=(Name("C"), Near(L))),
    })  # fmt: skip
    for tiny in (True, False):
        DISTANCE = usual.format(ball_step._UP if tiny else 1.0)
        moved = ball_step.multiply_double, ball_step.add
        stubs |= plain({
            moved[0]: asked(ball, f"(C {DISTANCE})", answer="more"),
            moved[1]: asked(ball, "more", answer=ball),
        })  # fmt: skip
        Name.answers = [False, tiny]
        kernel = Copies(names, stubs).of(ball_step.frequencies_ball)
        (_, _, radius), _ = kernel(Name("f"), Name("F"))
        # r is off from high by a bit more than half a unit; y from d by two units.
        r, y = R * (1 + U * fmpq(11, 10)), D * (1 + 2 * U)
        lost = L * D + 2 * U * D * ONE + U * (ONE + L) * D + SECOND * y * y
        given = put(radius.exact - radius.off, H=NONE)
        outweighs(given, put(RADIUS + r * lost, H=NONE))
    DISTANCE, Name.answers = usual, [True]
    (_, _, radius), _ = kernel(Name("f"), Name("F"))
    outweighs(radius.exact - radius.off, RADIUS + R * fmpq(1, 2**478))


SECOND = fmpq(9, 10)  # of y^2, what C y leaves


# --- the limits ----------------------------------------------------------------------


class Limits(enclosure.Run):
    """`rare_risk` in a rectangle of f and F; log f and log F are symbols."""

    def log(self, a, exponent):
        a, x = enclosure.Real.of(a), arb(2) ** int(exponent)
        x = a * enclosure.Real(
            enclosure.ONE * fmpq(2) ** int(exponent), enclosure.ONE, x, x
        )
        for known, symbol in ((self.f, enclosure.LOG), (self.p, enclosure.E)):
            if x.is_(known.exact()) and a.within(*enclosure.LIMITS):
                ends = x.lower.log().lower(), x.upper.log().upper()
                return enclosure.Real(symbol, enclosure.ONE, *ends)
        raise UnprovedError("a logarithm of another number")

    def quotient(self, a, b):  # by 2^-1000 at least; an overflow would show
        return enclosure.Real.of(a) / enclosure.Real.of(b)

    def scaled_exp(self, x):
        self.log_of = "v"
        log, zero = enclosure.LOG - enclosure.E, arb(0)
        self.log_value = enclosure.Real(log, enclosure.ONE, zero, zero)
        return super().scaled_exp(x)


def check_limits():
    """Raise unless `rare_risk` is the limit of r for p -> 0; return the rectangles."""
    after, one = enclosure.after, enclosure.ONE_REAL
    f = enclosure.spans(
        enclosure.SMALLEST, 2.0**-400, after(0.5), 1.0, after(1.0), after(1.5)
    )
    for low, high in f:
        F = max(2.0**-116, low * 2.0**958), enclosure.LARGEST
        run = Limits(
            enclosure.argument(low, min(high, 2.0**66), enclosure.F),
            enclosure.argument(*F, enclosure.P),
        )
        kernel = Copies({"two_sum": enclosure.two_sum}, run.instead())
        found, n = kernel.of(extremes.rare_risk)(run.f, run.p)
        p, f1 = run.f.exact() / run.p.exact(), run.f.exact() - one
        if low > 1.5:
            r = p / f1
        elif high <= 0.5:
            r = run.power * run.sine / run.f.exact()
        elif low == high == 1.0:
            r = p * enclosure.Real(
                enclosure.E - enclosure.LOG, lower=arb(0), upper=arb(0)
            )
        else:
            r = p * (one - run.power * run.sine) / f1
        scale = enclosure.Real(
            enclosure.ONE * fmpq(2) ** (600 * n), enclosure.ONE, arb(0), arb(1)
        )
        if not found.is_(r * scale):
            raise UnprovedError(f"not the limit of r for f in {low, high}")
    return len(f)


# --- the pair ------------------------------------------------------------------------

# `prover.moved` shows of the share s by which p/high is off from D, and r from high,
# that s (f/q + 1) is below it; s itself is below SMALL where C is taken from f alone.
OF_PAIR, SMALL = fmpq(1, 2**12) * (1 - fmpq(1, 2**12)), fmpq(1, 2**26)
# What is left of 2^-12 |d| r for C, and for r less high.
OF_C = fmpq(1, 2**12) * (1 - fmpq(1, 2**13))


class High(Near):
    """The first word of a pair: p over it is D, up to a share s of D."""


def fma(a, b, c):
    """Return the second word moved by C d, or the bound that is widened."""
    if isinstance(a, High):
        if (a.exact, str(b), c) != (R, "C d", "low"):
            raise UnprovedError("a pair that is moved in another way")
        return "moved"
    return Near(a.exact * b.exact + c.exact, a.off * b.exact).rounded()


def moved_by(far):
    """Return C of `_moved_risk` and the words that it tests."""
    names = {"fma": fma, "abs": abs}
    tested = plain({individual.rounded: lambda *x: x})
    kernel = Copies(names, tested).of(individual._moved_risk)
    Near.answers, Near.moved, Near.asked = [far, True], [], []
    found = kernel(
        Near(F), Near(P, of_p=True), Name(DISTANCE), High(R), "low", Near(RADIUS)
    )
    return *Near.moved, found


def check_moved():
    """Raise unless a pair within its bound is moved, and its bound widened enough."""
    for far in (True, False):
        value, (high, low, error) = moved_by(far)
        if Near.asked != [(Q, 2.0**-12), (F, 2.0**12)]:
            raise UnprovedError("C of f alone at other places than `prover.moved` has")
        if (high.exact, low, value.exact) != (R, "moved", C if far else W):
            raise UnprovedError("another pair, or C by another formula")
        off = value.off - B * S if far else value.off
        most = put(off, B=2**24, C=1, Q=1, L=1, H=1, W=1, S=SMALL)
        if not OF_PAIR * far + most.coeffs()[0] < OF_C:
            raise UnprovedError("C is off by more")
        # L is |low|. The pair is within its bound, d off from y, C d rounded.
        pair = RADIUS * (1 - fmpq(1, 2**31)) - 4 * U * (L + RADIUS)
        pair += R * D * (OF_C + 5 * U) + U * (L + 2 * R * D)
        tested = L * (1 + U) + R * D * (1 + 3 * U) + error.exact + error.off
        outweighs(error.exact - error.off, pair + 2 * U * tested)
    # f/(f + 1) is off by f q/((f + 1) (f + p)) for q or 1/f below 2^-12; p = s^2.
    f, s = generators("f", "s")
    same((f + 1.0) * (f + s * s) - f * (1.0 + s) * (1.0 + s), (f - s) * (f - s))
    close, s = individual._CLOSE, (1 - individual._CLOSE) ** 0.5 - 2.0**-50
    if not max(1 / 4097, close / (1 + s) ** 2) + 2.0**-26 + 2.0**-50 < float(OF_C):
        raise UnprovedError("C is off by more where it is f/(f + 1)")


def prove():
    """Raise unless r at p = f/F is right; return rows of what was run."""
    check_slopes()
    check_condition()
    check_ball()
    check_moved()
    return [
        [
            "r moved from p to f/F: slopes, C, its ball, its pair",
            "all f and F",
            "exact",
        ],
        ["limits of r, p < 2^-960", f"{check_limits()} rectangles", ""],
    ]


if __name__ == "__main__":
    for row in prove():
        print(" | ".join(row))
