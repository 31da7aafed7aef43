"""Samples of a population, their weights, and the true uniques."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from riskcore.common import arguments
from riskcore.simulate.populations import Floats, Ints

DESIGNS = ("simple", "poisson", "stratified")


def sample(
    frequencies: ArrayLike,
    n: ArrayLike,
    rng: Generator,
    design: str = "simple",
    strata: ArrayLike | None = None,
) -> Ints:
    """Return the cell frequencies of a sample drawn from a population.

    Parameters
    ----------
    frequencies : array_like of int, shape (K,)
        Population frequencies F of the cells.
    n : int, float or array_like of int
        Size of the sample, at most the population; for "poisson" its expectation, a
        real number; for "stratified" the size in each stratum, or one for all.
    rng : numpy.random.Generator
        Source of all chance.
    design : {"simple", "poisson", "stratified"}
        - "simple": n records without replacement, every set of n equally likely;
        - "poisson": every record is in the sample with probability n/N, independently;
        - "stratified": a simple sample in each stratum, independently.
    strata : array_like, shape (K,), optional
        The stratum of each cell, for "stratified" only; sizes in ``n`` are in the order
        of ``numpy.unique(strata)``.

    Returns
    -------
    ndarray of int64, shape (K,)
        Sample frequencies f of the cells, zeros included.

    Raises
    ------
    TypeError
        If frequencies or sizes are not integers, or ``rng`` is not a
        `numpy.random.Generator`.
    ValueError
        If a frequency is negative, a size is negative or above the population, or
        strata are missing or not one for each cell.

    See Also
    --------
    design_weights : the design weights of the sample.

    Examples
    --------
    >>> F = np.array([1, 1, 1, 100, 5000])
    >>> f = sample(F, 500, np.random.default_rng(1))
    >>> int(f.sum()), bool((f <= F).all())
    (500, True)
    """
    population = _frequencies("frequencies", frequencies)
    arguments.generator("rng", rng)
    arguments.one_of("design", design, DESIGNS)
    if (design == "stratified") != (strata is not None):
        raise ValueError(f'strata: needed only by design="stratified", not {design!r}')
    if strata is not None:
        return _stratified(population, n, _strata(strata, len(population)), rng)
    if design == "simple":
        return _simple(population, arguments.whole("n", n), rng, "n")
    N = int(population.sum())
    expected = float(n)  # type: ignore[arg-type]
    if not 0.0 <= expected <= N:
        raise ValueError(f"n: need a number from 0 to N = {N}, got {n!r}")
    return rng.binomial(population, expected / max(N, 1))


def design_weights(
    frequencies: ArrayLike, sampled: ArrayLike, strata: ArrayLike | None = None
) -> Floats:
    """Return the design weight of the records of each cell, N_h/n_h of its stratum h.

    The weights of the sampled records add to the population of each stratum. For a
    Poisson sample n is its actual size.

    Parameters
    ----------
    frequencies, sampled : array_like of int, shape (K,)
        Frequencies of the cells in the population and in the sample.
    strata : array_like, shape (K,), optional
        The stratum of each cell; one for all by default.

    Returns
    -------
    ndarray of float64, shape (K,)
        A weight >= 1 for each cell.

    Raises
    ------
    ValueError
        If a stratum has no sampled record, or the sample is not a subset of the
        population.

    Examples
    --------
    >>> design_weights([1, 3, 100], [0, 1, 10], strata=["a", "a", "b"])
    array([ 4.,  4., 10.])
    """
    population, sampled = _population_and_sample(frequencies, sampled)
    stratum = np.zeros(len(population), dtype=np.int64)
    if strata is not None:
        stratum = _strata(strata, len(population))
    N, n = _sums(population, stratum), _sums(sampled, stratum)
    empty = np.count_nonzero(n == 0)
    if empty:
        raise ValueError(f"sampled: no record in {empty} of {len(n)} strata")
    return (N / n)[stratum]


class Uniques(NamedTuple):
    """Numbers of unique records.

    Attributes
    ----------
    population : int
        Population uniques, records with F = 1.
    sample : int
        Sample uniques, records with f = 1.
    both : int
        Records unique in both: tau, which models estimate.

    Examples
    --------
    >>> Uniques(population=12, sample=40, both=3).both
    3
    """

    population: int
    sample: int
    both: int


def uniques(frequencies: ArrayLike, sampled: ArrayLike) -> Uniques:
    """Count the uniques of a population and of a sample of it.

    Parameters
    ----------
    frequencies, sampled : array_like of int, shape (K,)
        Frequencies of the cells in the population and in the sample.

    Returns
    -------
    Uniques
        The true numbers of population uniques, sample uniques and both.

    Raises
    ------
    ValueError
        If the sample is not a subset of the population.

    Examples
    --------
    >>> uniques([1, 1, 3, 8], sampled=[0, 1, 1, 2])
    Uniques(population=2, sample=2, both=1)
    """
    population, sampled = _population_and_sample(frequencies, sampled)
    in_population, in_sample = population == 1, sampled == 1
    return Uniques(
        int(np.count_nonzero(in_population)),
        int(np.count_nonzero(in_sample)),
        int(np.count_nonzero(in_population & in_sample)),
    )


def _simple(population: Ints, n: int, rng: Generator, name: str) -> Ints:
    """Draw n records: each with probability n/N, then correct the number at random."""
    N = int(population.sum())
    if not 0 <= n <= N:
        raise ValueError(f"{name}: need 0 to {N} records, got {n}")
    drawn: Ints = rng.binomial(population, n / max(N, 1))
    surplus = int(drawn.sum()) - n
    if surplus > 0:
        return drawn - _few(drawn, surplus, rng)
    return drawn + _few(population - drawn, -surplus, rng)


def _few(population: Ints, n: int, rng: Generator) -> Ints:
    """Draw n records; memory grows with n."""
    end = np.cumsum(population)
    if n == 0:
        return np.zeros(len(population), dtype=np.int64)
    record = rng.choice(int(end[-1]), n, replace=False, shuffle=False)
    cell = np.searchsorted(end, record, side="right")
    return np.bincount(cell, minlength=len(population))


def _stratified(population: Ints, n: ArrayLike, stratum: Ints, rng: Generator) -> Ints:
    count = int(stratum.max(initial=-1)) + 1
    numbers = arguments.numbers("n", n, "whole numbers of records", kinds="iu")
    if numbers.shape not in {(), (count,)}:
        raise ValueError(f"n: {count} strata, but shape {numbers.shape}")
    sizes = np.broadcast_to(numbers, count)
    drawn = np.zeros(len(population), dtype=np.int64)
    order = np.argsort(stratum, kind="stable")
    ends = np.cumsum(np.bincount(stratum, minlength=count))
    for h, cells in enumerate(np.split(order, ends[:-1]) if count else []):
        drawn[cells] = _simple(population[cells], int(sizes[h]), rng, f"n[{h}]")
    return drawn


def _strata(values: ArrayLike, length: int) -> Ints:
    """Return the position of each cell's stratum among the distinct ones."""
    labels = np.asarray(values)
    if labels.shape != (length,):
        raise ValueError(f"strata: shape {labels.shape}, but {length} cells")
    return np.unique(labels, return_inverse=True)[1]


def _sums(values: Ints, stratum: Ints) -> Ints:
    """Return the sum of the values of each stratum."""
    total = np.zeros(int(stratum.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(total, stratum, values)
    return total


def _population_and_sample(
    frequencies: ArrayLike, sampled: ArrayLike
) -> tuple[Ints, Ints]:
    population = _frequencies("frequencies", frequencies)
    drawn = _frequencies("sampled", sampled)
    if population.shape != drawn.shape:
        raise ValueError(f"sampled: {len(drawn)} cells, not {len(population)}")
    bad = np.count_nonzero(drawn > population)
    if bad:
        raise ValueError(f"sampled: more records than the population in {bad} cells")
    return population, drawn


def _frequencies(name: str, values: ArrayLike) -> Ints:
    """Return cell frequencies, or refuse them."""
    frequencies = arguments.numbers(
        name, values, "whole numbers", kinds="iu", dimensions=1
    )
    arguments.refuse(name, (frequencies < 0) | (frequencies > 2**53), "in [0, 2^53]")
    return frequencies.astype(np.int64, copy=False)
