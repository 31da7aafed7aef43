"""Prove a claim: run its kernel over its boxes, and cut those that are too wide."""

import time
from typing import NamedTuple

import numpy as np

from bench.proof import models
from bench.proof.bound import Runs
from bench.proof.boxes import halves
from bench.proof.models import UNIT
from bench.proof.tape import NO_GRID, Number, aligned, same

# Boxes are cut while the bound is above this share of what is claimed, but below the
# whole only so often.
ENOUGH, ONLY = 0.8, 2
DEEPEST = 14
# No more boxes than so many times those of the claim, and so many more.
MANY, MORE = 32, 1 << 16
BATCH = 512  # boxes at once
# A region that claims 16 times what is proved was changed, or should be.
WASTEFUL = 1 / 16
# Directed rounding needs bounds of errors below a quarter of any gap between doubles.
NARROW = 2.0**-56


class Result(NamedTuple):
    claim: object
    share: float  # the largest bound, relative to what is claimed of the box
    at: tuple  # the box where that is
    relative: float  # the largest bound, relative to the result
    boxes: int
    points: int  # at which the formula was compared
    seconds: float
    shares: np.ndarray  # of each box, before any is cut


def tested(lost, low, error):
    """Return what a bound must be for the rounding test, given what the pair is off by.

    The test of r(f, p) adds the second word and the error, with one rounding; that of
    r(f, f/F) moves the second word first (notes/correct_rounding.md, section 25).
    """
    return (lost + 4.0 * UNIT * (low + error)) * (1.0 + 2.0**-30)


def moved(boxes):
    """Return what low/high, times it, may not exceed, for a pair that is moved to f/F.

    See `quotients.py`: C is taken from the pair or, where q or 1/f is small, from f.
    """
    f_low, f_high, p_low, p_high = boxes.T
    close = 2.0**-12
    far = np.minimum(f_high, 1 / close) / np.maximum(1.0 - p_high, close) + 1.0
    far = np.where((f_low < 1 / close) & (1.0 - p_low > close), far, 0.0)
    near = (f_high >= 1 / close) | (1.0 - p_high <= close)
    return np.where(near, np.maximum(far, 2.0**14), far)


def usable(share, boxes, high, low, error):
    """Return shares, infinite unless error and second word are small beside high."""
    least = 2.0**-12 * (1 - 2.0**-12) / moved(boxes)
    small = (error <= NARROW * high) & (low + error <= least * high)
    return np.where(small & (share >= 0.0), share, np.inf)  # x/-0 is -inf


def bounds(program, boxes, degree):
    """Return bound/claimed and bound/result of the roundings, per box."""
    single = np.all(boxes[:, 0] == boxes[:, 1])
    share, relative = np.zeros(len(boxes)), np.zeros(len(boxes))
    slack = np.zeros(len(boxes))
    for indices, tape, result in Runs(program, 1 if single else 2, degree).over(boxes):
        high, low, error = (tape.constant(x) for x in result)
        high, low = aligned(high, low)
        if high.unit[1]:
            raise TypeError("a result that depends on an unknown scale")
        high, error = aligned(high, error)
        low, error = aligned(low, error)
        model = high.model.plus(low.model)
        parents = ((high, same), (low, same))
        total = Number(tape, model, parents, NO_GRID, power=high.power)
        lost = tested(tape.bound(total), low.largest(), error.largest())
        with np.errstate(all="ignore"):
            words = high.smallest(), low.largest(), error.largest()
            of_claim = usable(lost / error.smallest(), boxes[indices], *words)
            of_result = lost / high.smallest()
            scale = high.largest() / error.smallest()
        for found, into in (
            (of_claim, share), (of_result, relative), (scale, slack),
        ):  # fmt: skip
            found = np.where(np.isnan(found), np.inf, found)
            into[indices] = np.maximum(into[indices], found)
    return share, relative, slack


def pieces(boxes, depth):
    """Return boxes as (depth, boxes), a run each, the first at the end: a stack."""
    cuts = range(0, len(boxes), BATCH)
    return [(depth, boxes[i : i + BATCH]) for i in reversed(cuts)]


def prove(claim, shares=None):
    """Return the result of a claim; a share above 1 says that it is not proved.

    The first box that fails ends it. ``shares``, of each box in another proof, say
    which boxes are tried first: the largest. None is left out.
    """
    start = time.perf_counter()
    points = claim.formula()
    count = tried = 0
    share, relative, at = 0.0, 0.0, None
    usual = np.zeros(len(claim.boxes))
    order = np.arange(len(usual)) if shares is None else np.argsort(-np.array(shares))
    waiting = pieces(order, 0)
    while waiting and share <= 1.0:
        depth, boxes = waiting.pop()
        rows = boxes
        if depth == 0:
            boxes = claim.boxes[rows]
        found, of_result, scale = claim.bounds(boxes)
        left = claim.left(boxes)
        with np.errstate(invalid="ignore"):
            found = found + left * scale
        found = np.where(np.isnan(found), np.inf, found)
        if depth == 0:
            usual[rows] = found
        tried += len(boxes)
        wide = (boxes[:, 0] < boxes[:, 1]) | (boxes[:, 2] < boxes[:, 3])
        again = (found > (ENOUGH if depth < ONLY else 1.0)) & (depth < DEEPEST) & wide
        if tried > MANY * len(claim.boxes) + MORE:
            again &= False
        for i in np.flatnonzero(~again):
            if found[i] >= share:
                share, at = float(found[i]), tuple(boxes[i])
        count += int((~again).sum())
        relative = max(relative, models.worst((of_result + left)[~again]))
        worst = boxes[again][np.argsort(-found[again])]
        # Far down the worst box alone, to its end: most likely it fails.
        alone = 1 if depth >= ONLY else len(worst)
        for some in (worst[alone:], worst[:alone]):
            if len(some):
                waiting += pieces(halves(some), depth + 1)
    seconds = time.perf_counter() - start
    return Result(claim, share, at, relative, count, points, seconds, usual)
