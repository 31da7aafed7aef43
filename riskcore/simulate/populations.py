"""Simulate populations, arrays of cell frequencies, by three models."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.core.compiled.jit import native

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_MOST_CELLS = 2**33  # their frequencies take 69 GB of memory
_CELLS = 2**16  # in one tree
_SEATS = 2**16  # people between two calls of the generator


def zipf_population(N: int, K: int, exponent: float, rng: Generator) -> Ints:
    """Return the cell frequencies of a population under Zipf's law.

    N people fall independently into K cells, with p_k proportional to k^-exponent.

    Parameters
    ----------
    N : int
        Number of people, positive.
    K : int
        Number of cells, positive.
    exponent : float
        The exponent s >= 0; for 0 all cells are equally likely.
    rng : numpy.random.Generator
        Source of all chance.

    Returns
    -------
    ndarray of int64, shape (K,)
        Frequencies F_1, ..., F_K with sum N, zeros included.

    Raises
    ------
    TypeError
        If ``N`` or ``K`` is not an integer or ``rng`` not a `numpy.random.Generator`.
    ValueError
        If ``N`` or ``K`` is not positive or the exponent is negative or not finite.

    Notes
    -----
    The thesis on the Dirichlet-multinomial estimate, appendix A. People are divided
    between the halves of the cells, then between the halves of each half, and so on:
    the multinomial distribution, with a small relative error of the share of every
    cell, however rare. 10^10 people in 10^7 cells take about a second.

    Examples
    --------
    >>> F = zipf_population(1000, 50, 1.0, np.random.default_rng(1))
    >>> int(F.sum()), len(F)
    (1000, 50)
    """

    def mass(start: int, stop: int) -> Floats:
        rank = np.arange(start + 1, stop + 1, dtype=np.float64)
        return rank**-exponent

    arguments.generator("rng", rng)
    arguments.number_in("exponent", exponent, "[0, inf)")
    return _populate(N, K, mass, lambda left, right: right / (left + right), rng)


def dirichlet_multinomial_population(
    N: int, K: int, alpha: float, rng: Generator
) -> Ints:
    """Return the cell frequencies of a Dirichlet-multinomial population.

    Cell probabilities are drawn from the symmetric Dirichlet distribution with
    parameter alpha, frequencies from the multinomial distribution with them.

    Parameters
    ----------
    N : int
        Number of people, positive.
    K : int
        Number of cells, positive.
    alpha : float
        Parameter of each cell, positive; for small alpha the cells are unequal.
    rng : numpy.random.Generator
        Source of all chance.

    Returns
    -------
    ndarray of int64, shape (K,)
        Frequencies F_1, ..., F_K with sum N, zeros included.

    Raises
    ------
    TypeError
        If ``N`` or ``K`` is not an integer or ``rng`` not a `numpy.random.Generator`.
    ValueError
        If ``N`` or ``K`` is not positive, ``alpha`` is not a positive number, or
        K alpha overflows.

    Notes
    -----
    People are divided as in `zipf_population`; the share of k cells, next to k' others,
    is drawn from the beta distribution with parameters k alpha and k' alpha.

    Examples
    --------
    >>> F = dirichlet_multinomial_population(1000, 50, 0.2, np.random.default_rng(1))
    >>> int(F.sum()), len(F)
    (1000, 50)
    """
    arguments.generator("rng", rng)
    arguments.number_in("alpha", alpha, "(0, inf)")
    if math.isinf(alpha * arguments.whole("K", K)):
        raise ValueError(f"alpha={alpha}: alpha times {K} cells is beyond 1.8e308")
    return _populate(
        N,
        K,
        lambda start, stop: np.ones(stop - start),
        lambda left, right: rng.beta(alpha * right, alpha * left),
        rng,
    )


def pitman_population(N: int, theta: float, sigma: float, rng: Generator) -> Ints:
    """Return the cell frequencies of a population from the Pitman sampling formula.

    People arrive one by one: after m people, in u cells, the next one opens a new cell
    with probability (theta + u sigma)/(theta + m) and joins a cell of F people with
    probability (F - sigma)/(theta + m).

    Parameters
    ----------
    N : int
        Number of people, positive, below 2^31.
    theta : float
        Parameter theta > -sigma.
    sigma : float
        Parameter 0 <= sigma < 1; 0 is the Ewens sampling formula.
    rng : numpy.random.Generator
        Source of all chance.

    Returns
    -------
    ndarray of int64
        Frequencies of the occupied cells, in the order of their opening, with sum N.

    Raises
    ------
    TypeError
        If ``N`` is not an integer or ``rng`` not a `numpy.random.Generator`.
    ValueError
        If ``N``, ``theta`` or ``sigma`` is outside its domain.

    See Also
    --------
    dirichlet_multinomial_population : the case sigma = -alpha, theta = K alpha.

    Notes
    -----
    Takemura, on the additive model; Pitman (1995). Everyone joins the cell of a person
    chosen at random, except with probability theta/(theta + m) and, if that person was
    the first of the cell, sigma: the time of a step does not grow with m and u.

    Examples
    --------
    >>> F = pitman_population(1000, 20.0, 0.3, np.random.default_rng(1))
    >>> int(F.sum())
    1000
    """
    N = arguments.whole_from("N", N, 1, 2**53)
    arguments.generator("rng", rng)
    if N >= 2**31:
        raise ValueError(f"N: need fewer than 2^31 people, got {N}")
    theta = arguments.number("theta", theta)
    sigma = arguments.number_in("sigma", sigma, "[0, 1)")
    if not -sigma < theta < math.inf:
        raise ValueError(f"theta: need a number > -sigma = {-sigma}, got {theta}")
    cell = np.empty(N, dtype=np.int32)
    cells = np.zeros(1, dtype=np.int64)
    for start in range(0, N, _SEATS):
        stop = min(start + _SEATS, N)
        uniform = rng.random(2 * (stop - start))
        _seat(start, stop, theta, sigma, uniform, cell, cells)
    return np.bincount(cell ^ (cell >> 31))


def _populate(
    N: int,
    K: int,
    mass: Callable[[int, int], Floats],
    share: Callable[[Floats, Floats], Floats],
    rng: Generator,
) -> Ints:
    """Divide N people among blocks by ``mass``, then within them by ``share``."""
    N = arguments.whole_from("N", N, 1, 2**53)
    K = arguments.whole_from("K", K, 1, 2**53)
    if K > _MOST_CELLS:
        raise ValueError(f"K={K}: the frequencies would take {8 * K / 1e9:.0f} GB")
    starts = range(0, K, _CELLS)
    masses = np.array([mass(a, min(a + _CELLS, K)).sum() for a in starts])
    frequency = np.zeros(K, dtype=np.int64)
    for i, people in enumerate(_divide(N, masses, share, rng)):
        if people:
            a, b = starts[i], min(starts[i] + _CELLS, K)
            frequency[a:b] = _divide(people, mass(a, b), share, rng)
    return frequency


def _divide(
    people: int,
    mass: Floats,
    share: Callable[[Floats, Floats], Floats],
    rng: Generator,
) -> Ints:
    """Divide people among cells, from the root of a binary tree to its leaves."""
    levels, cells = [], len(mass)
    while len(mass) > 1:
        if len(mass) % 2:
            mass = np.append(mass, 0.0)
        levels.append(mass)
        mass = mass[0::2] + mass[1::2]
    count: Ints = np.array([people], dtype=np.int64)
    for level in reversed(levels):
        left, right = level[0::2], level[1::2]
        count = count[: len(left)]
        to_right = np.zeros(len(left), dtype=np.int64)
        live = np.flatnonzero((count > 0) & (right > 0.0))
        to_right[live] = rng.binomial(count[live], share(left[live], right[live]))
        count = np.column_stack([count - to_right, to_right]).ravel()
    return count[:cells]


@native("int64, int64, float64, float64, float64*, int32*, int64*")
def _seat(
    start: int,
    stop: int,
    theta: float,
    sigma: float,
    uniform: Any,
    cell: Any,
    cells: Any,
) -> None:
    """Assign each person a cell; the first person of cell c has ~c."""
    opened = cells[0]
    # A negative theta is subtracted from the share of the very first person.
    short = min(theta, 0.0)
    for m in range(start, stop):
        at = uniform[2 * (m - start)] * (m + theta) - short
        opens = at >= m
        if not opens:
            other = cell[int(at)]
            if other < 0:
                chance = sigma
                if at < 1.0:
                    chance = (sigma + short) / (1.0 + short)
                opens = uniform[2 * (m - start) + 1] < chance
                other = ~other
            cell[m] = other
        if opens:
            cell[m] = ~opened
            opened += 1
    cells[0] = opened
