"""The gradient of the risk: what is lost before its last rounding, relative to it.

For f < 16 it is (f r - p)/(p q) from the pair of r. With G = f r/p, an error of r
relative to it grows by G/(G - 1), at most 1 + (f + 1)/q. For f >= 16 it is C/D with C
= 1 - E and D = f - q C. The rest of both is in notes/correct_rounding.md, section 6:
below 2^-54 before the last rounding the error is below one unit in the last place.
"""

import functools
from fractions import Fraction

import numpy as np

from bench.proof import claims, exact, fraction
from bench.proof.bound import Runs, copies
from bench.proof.boxes import down_to, ends_through, geometric, near_one_boxes, with_f
from bench.proof.tape import projective
from riskcore.core.risk.individual import _Q_SMALL
from riskcore.core.special.gauss import fast_integer as risk_pairs

FAITHFUL = 2.0**-54
# Of the operations on the pair; of those on C and D, which take q and C unpaired.
AFTER_PAIR = 2.0**-70
AFTER_E = 2.0**-54 * 3.0 / 15.0


def growth(f, q):
    """Return a bound of G/(G - 1), for G - 1 >= q/(f + 1)."""
    return (1.0 + (f + 1.0) / q) * (1.0 + 2.0**-40)


def of_pairs(results):
    """Return region, place, what the pair's error is in the gradient, and boxes.

    Only claims with p up to 3/4 are listed.
    """
    rows = []
    for one in results:
        f, p = one.claim.boxes[:, 1].max(), one.claim.boxes[:, 3].max()
        if p <= risk_pairs.P_NEAR_ONE:
            lost = one.relative * growth(f, 1.0 - p) + AFTER_PAIR
            rows.append((one.claim.region, one.claim.where, lost, one.boxes))
    return rows


def _of_pair(claim, boxes):
    _, relative, _ = claim.bounds(boxes)
    lost = (relative + claim.left(boxes)) * growth(boxes[:, 1], 1.0 - boxes[:, 3])
    lost = lost + AFTER_PAIR
    return lost / FAITHFUL, lost, np.zeros(len(boxes))


def near_one():
    """Return the claims of regions that reach to q = 2^-22, below which it is a series.

    Their boxes are cut again, by binades of q.
    """
    found = []
    for claim in claims.of_risk():
        f, p = claim.boxes[:, :2], claim.boxes[:, 2:]
        if claim.region.startswith("FROM") or p.max() <= risk_pairs.P_NEAR_ONE:
            continue
        cuts = near_one_boxes(p.min(), 8)
        cuts = np.append(cuts[:, 0][cuts[:, 0] < 1.0 - _Q_SMALL], 1.0 - _Q_SMALL)
        boxes = with_f(np.unique(f, axis=0), ends_through(cuts))
        bounds = functools.partial(_of_pair, claim)
        found.append(
            claim._replace(
                boxes=boxes, bounds=bounds, left=claims._none, formula=claims.no_formula
            )
        )
    return found


# --- from f = 16 on ------------------------------------------------------------------


def _of_e(program, levels, boxes):
    error = np.zeros(len(boxes))
    for indices, tape, result in Runs(program, 2, 4).over(boxes):
        lost = tape.bound(result, last=True)
        error[indices] = np.maximum(error[indices], lost)
    f_low, f_high, p_low, p_high = boxes.T
    error = error + fraction.cut_of_e((f_low, f_high), (p_low, p_high), levels)
    # Past exact.LIMIT kernels take E of a smaller f: both lie in [0, 1/LIMIT].
    error = error + np.where(f_high > exact.LIMIT, 1.0 / exact.LIMIT**2, 0.0)
    least = 1.0 - 1.0 / (f_low + 1.0) - error  # of C; D >= f - 1
    lost = error * (1.0 / least + 1.0 / (f_low - 1.0)) + AFTER_E
    return lost / FAITHFUL, lost, np.zeros(len(boxes))


def e_formula(kernel, levels):
    """Prove that a kernel computes E with the fraction of the given levels."""
    run = exact.copies().of(kernel)

    def reference(f, p):
        return (fraction.denominator(f, p, levels) - f + 1 - p) / (1 - p)

    points = (lambda i: Fraction(2 * i + 37, 2), lambda i: Fraction(1, i + 2))
    return exact.same_function(run, reference, points)


def from_16():
    """Return the claims of the gradient by E."""
    r = risk_pairs
    found = []
    for name, kernel, levels, f in (
        ("FROM_16", r.e_16, 35, geometric(16.0, 32.0, 1.04)),
        ("FROM_32", r.e_32, 17, geometric(32.0, r.F_HUGE, 1.04)),
    ):
        copy = copies(dict.fromkeys(claims.LEVELS, projective)).of(kernel)

        def program(tape, boxes, copy=copy):
            f_low, f_high, p_low, p_high = boxes.T
            return copy(tape.input(f_low, f_high, 1), tape.input(p_low, p_high, 0))

        f[-1, 1] = max(f[-1, 1], 32.0)
        where = f"{f[0, 0]:g} <= f < {f[-1, 1]:g}"
        boxes = with_f(f, down_to(r.RARE, 16))
        bounds = functools.partial(_of_e, program, levels)
        formula = functools.partial(e_formula, kernel, levels)
        found.append(claims.Claim(name, where, boxes, bounds, claims._none, formula))
    return found
