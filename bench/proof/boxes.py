"""Boxes: rows (f from, f to, p from, p to) that hold every double of a region."""

import math

import numpy as np

from riskcore.core.special import elementary
from riskcore.core.special.floats import from_bits

# Where the logarithm changes its formula: the first mantissas of 3/4, of 1, of 5/4.
FIRST = (from_bits(elementary._LOWER_END_BITS), 7 / 8, np.nextafter(9 / 8, 2.0))


def before(x):
    return np.nextafter(x, 0.0)


def ends_of(cuts):
    """Return the boxes between cuts: doubles from one to before the next."""
    cuts = np.unique(cuts)
    return np.stack([cuts[:-1], np.maximum(cuts[:-1], before(cuts[1:]))], axis=1)


def ends_through(cuts):
    """Return the boxes between cuts, the last cut included."""
    return ends_of([*cuts, np.nextafter(np.max(cuts), np.inf)])


def by_binades(lower, upper, pieces):
    """Return boxes of p, cut where the logarithm changes its formula."""
    borders = sorted([*FIRST, 1.0])
    ends = zip(borders, [*borders[1:], 2 * FIRST[0]], strict=True)
    within = np.concatenate([np.linspace(*one, pieces + 1) for one in ends])
    first, last = math.frexp(lower)[1] - 2, max(1, math.frexp(upper)[1])
    cuts = np.append(np.ldexp(within[:, None], np.arange(first, last)), [lower, upper])
    return ends_of(cuts[(cuts >= lower) & (cuts <= upper)])


def with_f(f, p):
    """Return the boxes of each f (ends) and each p (ends)."""
    f, p = np.asarray(f, float), np.asarray(p, float)
    return np.hstack([np.repeat(f, len(p), axis=0), np.tile(p, (len(f), 1))])


def whole(numbers, p):
    return with_f([(float(n), float(n)) for n in numbers], p)


def geometric(lower, upper, ratio):
    """Return boxes of f, cut at powers of 2: there the grid of doubles changes."""
    count = int(np.ceil(np.log(upper / lower) / np.log(ratio)))
    twos = 2.0 ** np.arange(np.ceil(np.log2(lower)), np.log2(upper))
    between = np.geomspace(lower, upper, count + 1)[1:-1]
    return ends_of(np.concatenate([[lower, upper], between, twos]))


def closed(boxes, upper):
    """Let the last boxes of p end with upper."""
    boxes = np.array(boxes)
    boxes[boxes[:, -1] == before(upper), -1] = upper
    return boxes


def near_one_boxes(lower, pieces):
    """Return boxes of p up to 1, the closer the nearer to it."""
    cuts = {1.0, 1.0 - 2.0**-53}
    q = 1.0 - lower
    while q > 2.0**-53:
        cuts |= {1.0 - q * (1.0 - i / (2.0 * pieces)) for i in range(pieces)}
        q *= 0.5
    return closed([*ends_of(list(cuts)), (1.0, 1.0)], 1.0)


def even(lower, upper, pieces):
    """Return boxes of p of one width."""
    boxes = ends_of([*np.linspace(lower, upper, pieces + 1), max(lower, 0.5)])
    return closed(boxes, 1.0) if upper == 1.0 else boxes


def down_to(lower, pieces):
    """Return boxes of p up to 1: those near 0 by binades, one from ``lower`` on."""
    cuts = np.concatenate(
        [
            2.0 ** np.arange(-16, -4),
            np.linspace(2.0**-4, 1.0, pieces),
            1.0 - 2.0 ** np.arange(-14, -5),
        ]
    )
    return closed([(lower, before(cuts[0])), *ends_of(cuts)], 1.0)


def middle(lower, upper):
    """Return where boxes are cut: by their size, if they are wide."""
    geometric = np.sqrt(np.abs(lower)) * np.sqrt(np.abs(upper))
    wide = (lower > 0.0) & (upper > 4.0 * lower)
    return np.where(wide, geometric, 0.5 * (lower + upper))


def halves(boxes):
    """Cut boxes in two, where they have a width: by p, and by f."""
    f_low, f_high, p_low, p_high = boxes.T
    f_middle, p_middle = middle(f_low, f_high), middle(p_low, p_high)
    parts = []
    for one in ((f_low, f_middle), (f_middle, f_high)):
        for two in ((p_low, p_middle), (p_middle, p_high)):
            parts.append(np.stack([*one, *two], axis=1))
    return np.unique(np.concatenate(parts), axis=0)
