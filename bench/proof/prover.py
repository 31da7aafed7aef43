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
# A region that claims 16 times what is proved was changed, or should be.
WASTEFUL = 1 / 16


class Result(NamedTuple):
    claim: object
    share: float  # the largest bound, relative to what is claimed of the box
    at: tuple  # the box where that is
    relative: float  # the largest bound, relative to the result
    boxes: int
    points: int  # at which the formula was compared
    seconds: float


def tested(lost, low, error):
    """Return what a bound must be for the rounding test, given what the pair is off by.

    The test of r(f, p) adds the second word and the error, with one rounding; that of
    r(f, f/F) moves the second word first (notes/proof_of_rounding.md, section 7).
    """
    return (lost + 4.0 * UNIT * (low + error)) * (1.0 + 2.0**-30)


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
            of_claim = lost / error.smallest()
            of_result = lost / high.smallest()
            scale = high.largest() / error.smallest()
        for found, into in (
            (of_claim, share), (of_result, relative), (scale, slack),
        ):  # fmt: skip
            found = np.where(np.isnan(found), np.inf, found)
            into[indices] = np.maximum(into[indices], found)
    return share, relative, slack


def prove(claim, deepest=DEEPEST):
    """Return the result of a claim; a share above 1 says that it is not proved."""
    start = time.perf_counter()
    points = claim.formula()
    waiting, count = claim.boxes, 0
    worst = (0.0, None, 0.0)
    for depth in range(deepest + 1):
        share, relative, scale = claim.bounds(waiting)
        left = claim.left(waiting)
        with np.errstate(invalid="ignore"):
            share = share + left * scale
        share = np.where(np.isnan(share), np.inf, share)
        relative = relative + left
        again = (share > (ENOUGH if depth < ONLY else 1.0)) & (depth < deepest)
        wide = (waiting[:, 0] < waiting[:, 1]) | (waiting[:, 2] < waiting[:, 3])
        again &= wide
        done = ~again
        count += int(done.sum())
        if done.any():
            i = int(np.argmax(np.where(done, share, -1.0)))
            largest = max(worst[2], models.worst(relative[done]))
            if share[i] >= worst[0]:
                worst = (float(share[i]), tuple(waiting[i]), largest)
            worst = (worst[0], worst[1], largest)
        if not again.any():
            break
        waiting = halves(waiting[again])
    seconds = time.perf_counter() - start
    return Result(claim, worst[0], worst[1], worst[2], count, points, seconds)
