"""Weights for people who were not drawn but took part, from a reference sample.

Of a cell A people are records of the data and B, as if its weights d were equal, of the
reference, which has a share s = sum d/sum d^2 of all people. Of these A is binomial
with pi/(pi + s) (Elliott and Valliant 2017, Statistical Science 32, 249-264). Logit pi
is a sum of effects of the keys, each normal with a variance that the data tell (MacKay
1992, Neural Computation 4, 415-447): rare values are like the others. The weight is
1/E[pi] over the errors of the fit, because a risk is nearly linear in pi. A table of
people by some of the keys is a reference of everybody: B counts them, and s is 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import listed
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records, comparable_beside, plain_value
from riskcore.data.count import count
from riskcore.data.missing_by_design import with_designs
from riskcore.data.source import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_MOST = 1000  # effects, whose matrix is dense
_STEPS, _LONGEST = 500, 2.0  # of the fit, and the largest change of an effect in one
_CLOSE, _SETTLED = 1e-3, 0.05  # changes of effects, and of variances, that end it
_LEAST = 1e-4  # a variance of effects that is as good as none
_ASSUMED = (
    "The weights come from a reference: they assume that, among people with equal "
    "keys, nothing else decides who takes part, and that everybody might."
)
_ABSENT = "{:.3g} % of the people are not covered, as no record has {}."
_LACKING = "{:.3g} % of the records have {}, which the reference lacks."
_UNUSED = "The reference lacks {}, taken to decide nothing beside the other keys."
_NO_TABLE = (
    "reference: it lacks {}; give a sample with all keys, or a table of people with "
    "one row for each combination of some keys and their number as weight"
)
_MOST_APART = 1.1
_MORE = (
    "They add up to {:,.0f} people, those of the reference to {:,.0f}: of some keys "
    "there are more records than people; check these weights, and the keys."
)


class Reference(NamedTuple):
    """What gives records weights: a sample of the population, or a fraction."""

    fraction: float | None
    source: Source | None = None
    weight: Any = None
    missing: str = ""

    @classmethod
    def of(cls, data: Source, weight: Any, asked: Any) -> tuple[Reference, Any]:
        """Return the reference of data, and the column of weights that data have."""
        fraction, reference = asked["sampling_fraction"], asked["reference"]
        if reference is None:
            return cls(fraction), weight
        if weight in data.names:
            raise ValueError(f"reference: drop it, the data have weights, {weight!r}")
        both = {"data": data.path or data, "reference": reference}
        source = Source.several(both, data.reading)["reference"]
        weight = source.weight if weight is None else weight
        if weight is None and fraction is None:
            raise ValueError(
                "reference: it has no weights, and the number of people is unknown; "
                "give weight, or sampling_fraction, the share of them who took part"
            )
        return cls(fraction, source, weight, asked["missing"]), None

    def weigh(self, coded: CodedRecords) -> CodedRecords:
        """Return records of data, each with the number of people it stands for."""
        if self.source is None:
            return coded.sampled(self.fraction)
        names = self.source.names
        n, lacking = coded.n, [key for key in coded.columns if key not in names]
        keys = [key for key in coded.columns if key not in lacking] or lacking
        frame = Records.of(self.source.read([*keys, self.weight], self.weight)[0])
        other = CodedRecords.of(frame, keys, self.weight, scale=self.source.scale)
        d = np.asarray(other.sampled(other.n / n * (self.fraction or 1.0)).weights)
        if d.sum() < n:
            raise ValueError(
                f"reference: its weights add up to {d.sum():,.6g} people, fewer than "
                f"the {n:,} records; give weights that add up to all people"
            )
        # The effects: none, that of all people, and those of the values of each key.
        place: dict[Any, int] = {("", ""): 0, ("all", ""): 1}
        kind, codes, said = [0, 1], [], {0: "", 1: ""}
        own, theirs = (with_designs(x, keys, self.missing) for x in (coded, other))
        empty = [None] * (self.missing == "category")
        for key in keys:
            both, columns = [], (own.columns[key], theirs.columns[key])
            for column, beside in (columns, columns[::-1]):
                labels = comparable_beside(column.labels, beside.labels) + empty
                at = [place.setdefault((key, x), len(place)) for x in labels]
                for i, x in zip(at, [*column.labels, *empty], strict=True):
                    said[i] = f"{key} {plain_value(x)!r}"
                both.append(np.array([*at, 0], np.uint32)[column.codes])
            codes.append(np.concatenate(both))
            kind += [kind[-1] + 1] * (len(place) - len(kind))
        cells = count(codes, [len(place)] * len(keys), np.append(np.zeros(n), d))
        cell, B = cells.inverse[:n], cells.weight_sum
        s = 1.0 if lacking else d.sum() / (d * d).sum()  # lacking: a table of people
        rows = 0 if self.weight is None else len(np.unique(cells.inverse[n:]))
        if lacking and rows < other.n:
            raise ValueError(_NO_TABLE.format(listed(map(repr, lacking))))
        A = np.bincount(cell, minlength=len(B)).astype(np.float64)
        effects = np.stack([np.ones(len(B), np.int64), *cells.codes])
        remarks = _remarks(effects, said, A, B)
        if lacking:
            remarks += (_UNUSED.format(listed(map(str, lacking))),)
        # The fit is to cells with all keys, whose people are a part of all.
        whole = effects.all(axis=0)
        a, b = A[whole].sum() / n, B[whole].sum() / B.sum()
        if not a * b:
            raise ValueError("reference: no record has all keys; leave out keys")
        pi = participation(effects, np.array(kind), A * whole, s * B * whole, s * b)
        weights = a / pi[cell]
        if weights.sum() > _MOST_APART * d.sum():
            remarks += (_MORE.format(weights.sum(), d.sum()),)
        return replace(coded, weight="reference", weights=weights, remarks=remarks)


def _remarks(at: Ints, names: dict[int, str], A: Floats, B: Floats) -> tuple[str, ...]:
    """Return what the weights assume; refuse a reference with other values."""
    remarks = [_ASSUMED]
    for said, here, there in ((_ABSENT, B, A), (_LACKING, A, B)):
        only, others = (_sums(at, cells, len(names)) for cells in (here, there))
        only[others > 0], only[0] = 0, 0
        largest = [names[i] for i in np.argsort(-only)[:3] if only[i]]
        if largest:
            share = here[(only > 0)[at].any(axis=0)].sum() / here.sum()
            remarks.append(said.format(100 * share, " or ".join(largest)))
            if said == _LACKING and share > 0.5:
                raise ValueError(f"reference: {remarks[-1]} Code keys alike in both.")
    return tuple(remarks)


def _sums(at: Ints, values: Floats, size: int) -> Floats:
    """Return the sum over cells by effect."""
    return np.bincount(at.ravel(), np.tile(values, len(at)), size).astype(np.float64)


def participation(at: Ints, kind: Ints, A: Floats, B: Floats, s: float) -> Floats:
    """Return E[pi] of cells, given their effects, and the key of each effect."""
    size, sizes = len(kind), np.bincount(kind)
    if size > _MOST:
        raise ValueError(f"reference: {size:,} values of keys; recode to {_MOST:,}")
    effects, variance = np.zeros(size), np.ones(len(sizes))
    variance[1], error = np.inf, np.zeros((size, size))
    effects[1] = np.log(A.sum() * s / B.sum())
    for i in range(_STEPS):
        pace = 1 / (1 + i // 20)  # slower, as steps may go to and fro
        pi = 1 / (1 + np.exp(-effects[at].sum(axis=0)))
        p, slope = pi / (pi + s), 1 - pi
        score = _sums(at, (A - (A + B) * p) * slope, size) - effects / variance[kind]
        told = (A + B) * p * (1 - p) * slope * slope
        pairs = sum(_sums(size * i + at, told, size * size) for i in at)
        pairs = np.reshape(pairs, (size, size)) + np.diag(1 / variance[kind])
        error[1:, 1:] = np.linalg.inv(pairs[1:, 1:])
        step = error @ score
        effects = effects + step * min(pace, _LONGEST / np.abs(step).max())
        free = sizes - np.bincount(kind, error.diagonal()) / variance
        new = np.bincount(kind, effects * effects) / np.maximum(free, _LEAST)
        growth = np.maximum(new, _LEAST)[2:] / variance[2:]
        variance[2:] *= growth**pace
        if np.abs(step).max() <= _CLOSE and np.abs(growth - 1).max() <= _SETTLED:
            break
    else:
        raise ValueError("reference: the fit did not settle; recode rare values")
    logit = effects[at].sum(axis=0)
    spread = np.sqrt(3 * sum(error[i, at].sum(axis=0) for i in at))
    low, mid, high = (1 / (1 + np.exp(-logit - x * spread)) for x in (-1, 0, 1))
    return np.asarray((low + 4 * mid + high) / 6)
