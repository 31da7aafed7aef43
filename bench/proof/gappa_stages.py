"""Gappa's bounds of kernels that are too long for one script, stage by stage.

A kernel is cut at the pairs that its operations take and return. A script bounds what
each is off by, given the words of the pairs before it; a last one adds up the errors.
"""

from bench.proof import gappa, graph
from bench.proof.gappa import NAMES, Script, literal, plus, prove, times, variable
from bench.proof.gappa_parts import by_powers, horner, two, without_errors
from bench.proof.rebind import Copies

SLACK = 2.0**-40  # what ends that are found by rounding are widened by


class Stages:
    """Pairs that are bounded: the i-th has the words hi and li and the error ei.

    Its true value wi is a polynomial in true ones before it; vi is the same polynomial
    in computed ones, and ei. The first word of the first pair is between two ends.
    """

    def __init__(self, pair, ends, low, error=0.0):
        self.known, self.exact = {}, []
        self.words, self.ranges, self.errors, self.low = [], [], [], []
        self.ends = interval(widened(*ends))  # of the true value
        self._add(pair, variable("w"), interval(ends), low, error)

    def _add(self, pair, exact, ends, low, error):
        i = len(self.exact)
        self.known[pair] = f"h{i}", f"l{i}"
        self.exact.append(exact)
        self.words += [f"{x}{i} = float<ieee_64,ne>(x{x}{i});" for x in "hl"]
        self.ranges += [f"h{i} in {ends}", f"|l{i}| <= {low.hex()}"]
        self.errors.append(error)
        self.low.append(low)

    def bound(self, high, low, hints=()):
        """Return what a pair is off by, given those before it, and how it is written.

        That is the lines of a script, the pair without errors, and both words.
        """
        script = Script(second=[f"l{i}" for i in range(len(self.exact))])
        for nodes, names in self.known.items():
            script.take(nodes, names)
        text, total = two(script, (high, low))
        exact = {
            names: number
            for names, number in without_errors(script, total).items()
            if not script.second.intersection(names)
        }
        whole = replaced(exact, lambda h: plus(variable(h), variable(f"l{h[1:]}")))
        goal = f"({text}) - ({expression(exact, lambda h: f'({h} + l{h[1:]})')})"
        hint = f"{goal} -> {script.terms(plus(total, whole, -1))};"
        lines, hints = self.words + script.lines, [hint, *script.hints(), *hints]
        error = prove(lines, self.ranges, goal, hints)
        return error, exact, lines, script.name(high), script.name(low), hints[1:]

    def cut(self, high, low):
        """Bound a pair, given those before it, and take it as one of them."""
        pair = normal(high, low)
        if pair in self.known or graph.constant(pair[0]):
            return
        error, exact, lines, high, low, hints = self.bound(*pair)
        ends = gappa.enclose(lines, self.ranges, high)
        self._add(pair, exact, ends, prove(lines, self.ranges, low, hints), error)

    def copies(self, names, *kernels):
        """Return copies of kernels that are cut where they call some of them."""

        def stage(copy, *args):
            self.cut(*args[:2])
            self.cut(*args[2:])
            found = copy(*args)
            self.cut(*found)
            return found

        return Copies({**NAMES, **names}, dict.fromkeys(kernels, stage))

    def lost(self):
        """Return a bound of what the last pair is off by."""
        lines, hints = ["v0 = w0 + e0;"], ["v0 - w0 -> e0;"]
        script = Script()  # di: what vi is off by
        for i, exact in enumerate(self.exact):
            script.rounding[f"d{i}"] = f"(v{i} - w{i})"
            if i == 0:
                continue
            for kind, error in ("w", ""), ("v", f" + e{i}"):
                text = expression(exact, lambda h, kind=kind: kind + h[1:])
                lines.append(f"{kind}{i} = {text}{error};")
            off = plus(replaced(exact, computed), replaced(exact, true), -1)
            hints.append(f"v{i} - w{i} -> e{i} + {script.terms(off)};")
        ranges = [f"|e{i}| <= {one.hex()}" for i, one in enumerate(self.errors)]
        return prove(lines, [f"w0 in {self.ends}", *ranges], f"v{i} - w{i}", hints)

    def polynomial(self):
        """Return the last pair without errors as a polynomial in the first, x."""
        found = [variable("x")]
        for exact in self.exact[1:]:
            found.append(replaced(exact, lambda h: found[int(h[1:])]))
        return horner(by_powers(found[-1], "x"), "x")


def interval(ends):
    lower, upper = ends
    return f"[{lower.hex()},{upper.hex()}]"


def computed(h):
    return variable(f"v{h[1:]}")


def true(h):
    return plus(computed(h), variable(f"d{h[1:]}"), -1)


def normal(high, low):
    """Return the words of a pair, or of minus it, the first without a sign."""
    high, sign = gappa.unsigned(graph.node(high))
    low, other = gappa.unsigned(graph.node(low))
    return high, low if sign == other else graph.negative(low)


def replaced(polynomial, by):
    """Return a polynomial with others for its variables."""
    found = {}
    for names, number in polynomial.items():
        one = {(): number}
        for name in names:
            one = times(one, by(name))
        found = plus(found, one)
    return found


def expression(polynomial, of):
    """Return a polynomial as an expression of what its variables are."""
    (first, *others) = sorted({name for names in polynomial for name in names})
    if not others:
        return horner(by_powers(polynomial, first), of(first))
    return " + ".join(
        " * ".join([f"({literal(number)})", *map(of, names)])
        for names, number in polynomial.items()
    )


# --- quotients


def quotient_of(pair):
    """Return the nodes of s, s_low, u, d and d_low, by their form: s = u (1/d)."""
    (reciprocal,) = [one for one in below(*pair) if one.kind == "div"]
    fused = {
        any(x.kind in ("fma", "fnma") for x in one.args): one
        for one in below(*pair)
        if one.kind == "mul" and any(x is reciprocal for x in one.args)
    }
    s, s_low = fused[False], fused[True]
    (u,) = [x for x in s.args if x is not reciprocal]
    (outer,) = [x for x in s_low.args if x.kind in ("fma", "fnma")]
    (d_low,) = [x for x in outer.args[:2] if x is not s]
    return s, s_low, u, reciprocal.args[1], d_low


def below(*tops):
    found, waiting = {}, list(tops)
    while waiting:
        one = waiting.pop()
        if one.number not in found:
            found[one.number] = one
            waiting += [x for x in one.args if isinstance(x, graph.Node)]
    return found.values()


def prove_exact(nodes, name, ends):
    """Prove that u and d_low are exact: so d + d_low is the sum that d rounds."""
    script = Script()
    _, d, _ = map(script.name, nodes[2:])
    lines = [f"{name} = float<ieee_64,ne>(x{name});", *script.lines]
    for error, off in script.rounding.items():
        if error != d.replace("n", "e"):
            prove(lines, [f"{name} in {interval(ends)}"], off, [], "0")


def quotient(nodes, u, d):
    """Return stages whose first pair is (s, s_low), for u and d between ends."""
    script = Script(second=("dl",))
    script.take(nodes[2:], ("u", "d", "dl"))
    text, total = two(script, nodes[:2])
    divisor = plus(variable("d"), variable("dl"))
    numerator = script.small(plus(times(total, divisor), variable("u"), -1))
    goal = f"({text}) - u / (d + dl)"
    hint = f"{goal} -> ({script.terms(numerator)}) / (d + dl) {{ (d + dl) <> 0 }};"
    half_ulp = "1b-53" if max(d) <= 2.0 else "1b-52"
    where = [
        f"u in {interval(u)}",
        f"d in {interval(sorted(d))}",
        f"|dl| <= {half_ulp}",
    ]
    hints = [hint, *script.hints()]
    low = prove(script.lines, where, script.name(nodes[1]), hints)
    error = prove(script.lines, where, goal, hints)
    return Stages(nodes[:2], widened(u[0] / d[0], u[1] / d[1]), low, error)


def widened(lower, upper):
    return lower - SLACK * abs(lower), upper + SLACK * abs(upper)
