"""Simulated populations, samples of them, and survey files.

A population, or a sample, is an array of cell frequencies: how many of its records are
in each cell. Every draw comes from the `numpy.random.Generator` given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.compiled.jit import native

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_PROVINCES, _MUNICIPALITIES = 12, 40
_HOUSEHOLD_SIZES = [0.33, 0.32, 0.15, 0.13, 0.05, 0.014, 0.004, 0.002]
_FOREIGN, _COUNTRIES = 0.08, 60
_MALE, _FEMALE = 1, 2
_NEVER_MARRIED, _MARRIED, _WIDOWED, _DIVORCED = 1, 2, 3, 4

_CELLS = 2**16  # in one tree
_SEATS = 2**16  # between two calls of the generator


# --- populations -------------------------------------------------------------------


def zipf_population(N: int, K: int, exponent: float, rng: np.random.Generator) -> Ints:
    """Return the cell frequencies of a population under Zipf's law.

    N people fall independently into K cells, with p_k proportional to k^-exponent.

    Parameters
    ----------
    N : int
        Number of people, positive.
    K : int
        Number of cells, positive.
    exponent : float
        The exponent s >= 0; 0 makes all cells equally likely.
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
    the multinomial law, with shares that are right relatively however rare a cell is.
    10^10 people in 10^7 cells take about a second.

    Examples
    --------
    >>> F = zipf_population(1000, 50, 1.0, np.random.default_rng(1))
    >>> int(F.sum()), len(F)
    (1000, 50)
    """

    def mass(start: int, stop: int) -> Floats:
        rank = np.arange(start + 1, stop + 1, dtype=np.float64)
        powers: Floats = rank**-exponent
        return powers

    _check_generator(rng)
    if not 0.0 <= arguments.number("exponent", exponent) < math.inf:
        raise ValueError(f"exponent: need a number >= 0, got {exponent}")
    return _populate(N, K, mass, lambda left, right: right / (left + right), rng)


def dirichlet_multinomial_population(
    N: int, K: int, alpha: float, rng: np.random.Generator
) -> Ints:
    """Return the cell frequencies of a Dirichlet-multinomial population.

    The cell probabilities are drawn from the symmetric Dirichlet law with parameter
    alpha, the frequencies from the multinomial law with these probabilities.

    Parameters
    ----------
    N : int
        Number of people, positive.
    K : int
        Number of cells, positive.
    alpha : float
        Parameter of each cell, positive; the smaller, the more unequal the cells.
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
        If ``N`` or ``K`` is not positive or ``alpha`` not a positive number.

    Notes
    -----
    Halves of the cells as in `zipf_population`; the share of a half of k cells beside
    one of k' is drawn from the beta law with parameters k alpha and k' alpha.

    Examples
    --------
    >>> F = dirichlet_multinomial_population(1000, 50, 0.2, np.random.default_rng(1))
    >>> int(F.sum()), len(F)
    (1000, 50)
    """
    _check_generator(rng)
    if not 0.0 < arguments.number("alpha", alpha) < math.inf:
        raise ValueError(f"alpha: need a positive number, got {alpha}")
    return _populate(
        N,
        K,
        lambda start, stop: np.ones(stop - start),
        lambda left, right: rng.beta(alpha * right, alpha * left),
        rng,
    )


def pitman_population(
    N: int, theta: float, sigma: float, rng: np.random.Generator
) -> Ints:
    """Return the cell frequencies of a population from the Pitman sampling formula.

    People come one by one: after m of them, in u cells, the next opens a new cell with
    probability (theta + u sigma)/(theta + m) and joins a cell of F with probability
    (F - sigma)/(theta + m).

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
        Frequencies of the occupied cells, in the order in which they were opened, with
        sum N.

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
    Takemura, on the additive model; Pitman (1995). Everyone takes the cell of a person
    chosen at random, but for probabilities theta/(theta + m) and, where that person
    was the first of the cell, sigma: one step takes the same time whatever m and u.

    Examples
    --------
    >>> F = pitman_population(1000, 20.0, 0.3, np.random.default_rng(1))
    >>> int(F.sum())
    1000
    """
    N = _positive("N", N)
    _check_generator(rng)
    if N >= 2**31:
        raise ValueError(f"N: need fewer than 2^31 people, got {N}")
    theta, sigma = arguments.number("theta", theta), arguments.number("sigma", sigma)
    if not 0.0 <= sigma < 1.0:
        raise ValueError(f"sigma: need a number in [0, 1), got {sigma}")
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
    rng: np.random.Generator,
) -> Ints:
    """Divide N people among blocks of cells, then among the cells of each block.

    ``mass(start, stop)`` holds a number for each cell, which add up over cells, and
    ``share(left, right)`` the probability of the second of two neighbours.
    """
    N, K = _positive("N", N), _positive("K", K)
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
    rng: np.random.Generator,
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
    """Give each person a cell; the first person of cell c has ~c."""
    opened = cells[0]
    # A negative theta is taken from the share of the very first person.
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


# --- samples -----------------------------------------------------------------------


def sample(
    frequencies: ArrayLike,
    n: ArrayLike,
    rng: np.random.Generator,
    design: str = "simple",
    strata: ArrayLike | None = None,
) -> Ints:
    """Draw a sample of a population; return how many records of each cell are in it.

    Parameters
    ----------
    frequencies : array_like of int, shape (K,)
        Population frequencies F of the cells.
    n : int, float or array_like of int
        Size of the sample; its expectation, any real number, for "poisson"; that of
        each stratum, or one for all, for "stratified". At most the population.
    rng : numpy.random.Generator
        Source of all chance.
    design : {"simple", "poisson", "stratified"}
        - "simple": n records without replacement, every set of n equally likely;
        - "poisson": every record is in the sample with probability n/N, independently;
        - "stratified": a simple sample in each stratum, independently.
    strata : array_like, shape (K,), optional
        The stratum of each cell, for "stratified" alone; sizes in ``n`` are in the
        order of ``numpy.unique(strata)``.

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
    design_weights : the weights that go with it.

    Examples
    --------
    >>> F = np.array([1, 1, 1, 100, 5000])
    >>> f = sample(F, 500, np.random.default_rng(1))
    >>> int(f.sum()), bool((f <= F).all())
    (500, True)
    """
    population = _frequencies("frequencies", frequencies)
    _check_generator(rng)
    if design not in {"simple", "poisson", "stratified"}:
        raise ValueError(
            f'design: need "simple", "poisson" or "stratified", got {design!r}'
        )
    if (design == "stratified") != (strata is not None):
        raise ValueError(f'strata: needed by design="stratified" alone, not {design!r}')
    if strata is not None:
        return _stratified(population, n, _strata(strata, len(population)), rng)
    if design == "simple":
        return _simple(population, index(n), rng, "n")  # type: ignore[arg-type]
    N = int(population.sum())
    expected = float(n)  # type: ignore[arg-type]
    if not 0.0 <= expected <= N:
        raise ValueError(f"n: need a number from 0 to N = {N}, got {n!r}")
    return rng.binomial(population, expected / max(N, 1))


def design_weights(
    frequencies: ArrayLike, sampled: ArrayLike, strata: ArrayLike | None = None
) -> Floats:
    """Return the weight of the records of each cell, N_h/n_h of its stratum h.

    The weights of the records sampled add up to the population of each stratum. For
    a Poisson sample that is N over the size it happens to have.

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
        If the sample has no record in some stratum, or is no sample of the population.

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
    weights: Floats = (N / n)[stratum]
    return weights


class Uniques(NamedTuple):
    """Numbers of unique records.

    Attributes
    ----------
    population : int
        Population uniques, records with F = 1.
    sample : int
        Sample uniques, records with f = 1.
    both : int
        Records unique in both: tau, which models estimate from the sample.
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
        If the second is no sample of the first.

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


def _simple(population: Ints, n: int, rng: np.random.Generator, name: str) -> Ints:
    """Draw n records: each with probability n/N, then some more or fewer at random."""
    N = int(population.sum())
    if not 0 <= n <= N:
        raise ValueError(f"{name}: need 0 to {N} records, got {n}")
    drawn: Ints = rng.binomial(population, n / max(N, 1))
    surplus = int(drawn.sum()) - n
    if surplus > 0:
        return drawn - _few(drawn, surplus, rng)
    return drawn + _few(population - drawn, -surplus, rng)


def _few(population: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Draw n records, in memory that grows with n."""
    end = np.cumsum(population)
    if n == 0:
        return np.zeros(len(population), dtype=np.int64)
    record = rng.choice(int(end[-1]), n, replace=False, shuffle=False)
    cell = np.searchsorted(end, record, side="right")
    return np.bincount(cell, minlength=len(population))


def _stratified(
    population: Ints, n: ArrayLike, stratum: Ints, rng: np.random.Generator
) -> Ints:
    count = int(stratum.max(initial=-1)) + 1
    given = np.asarray(n)
    if given.dtype.kind not in "iu":
        raise TypeError(f"n: need whole numbers of records, got {given.dtype}")
    if given.shape not in {(), (count,)}:
        raise ValueError(f"n: {count} strata, but shape {given.shape}")
    sizes = np.broadcast_to(given, count)
    drawn = np.zeros(len(population), dtype=np.int64)
    order = np.argsort(stratum, kind="stable")
    ends = np.cumsum(np.bincount(stratum, minlength=count))
    for h, cells in enumerate(np.split(order, ends[:-1]) if count else []):
        drawn[cells] = _simple(population[cells], int(sizes[h]), rng, f"n[{h}]")
    return drawn


def _strata(values: ArrayLike, length: int) -> Ints:
    """Return the position of each cell's stratum among the distinct ones."""
    given = np.asarray(values)
    if given.shape != (length,):
        raise ValueError(f"strata: shape {given.shape}, but {length} cells")
    stratum: Ints = np.unique(given, return_inverse=True)[1]
    return stratum


def _sums(values: Ints, stratum: Ints) -> Ints:
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
    given = np.asarray(values)
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name}: need whole numbers, got {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"{name}: need one dimension, got shape {given.shape}")
    bad = np.count_nonzero((given < 0) | (given > 2**53))
    if bad:
        raise ValueError(f"{name}: {bad} of {len(given)} values are not in [0, 2^53]")
    return given.astype(np.int64, copy=False)


def _positive(name: str, value: int) -> int:
    number = arguments.whole(name, value)
    if not 1 <= number <= 2**53:
        raise ValueError(f"{name}: need a whole number from 1 to 2^53, got {value}")
    return number


def _check_generator(rng: Any) -> None:
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng: need a numpy.random.Generator, got {type(rng).__name__}")


# --- a survey file -----------------------------------------------------------------


# Of which all frequencies are in memory: 69 GB.
_MOST_CELLS = 2**33


def microdata(
    n: int, rng: np.random.Generator, fraction: float = 0.01
) -> dict[str, NDArray[Any]]:
    """Return a survey file like a census sample: persons in whole households.

    Households are drawn, with unequal probabilities by region, from a synthetic
    population in which they are independent of each other.

    Parameters
    ----------
    n : int
        Number of records wanted. The last household is kept whole, so that the file
        has at most 7 records more.
    rng : numpy.random.Generator
        Source of all chance: the same state gives the same file.
    fraction : float
        Sampling fraction, in (0, 1]: the file stands for a population of
        ``records / fraction`` persons.

    Returns
    -------
    dict of str to ndarray
        Columns of equal length; the members of a household are neighbours.

        - ``HOUSEHOLD``, from 1, and ``PERSON``, from 1 in each household
        - ``REGION``: municipality, 101 to 1240; without its last two digits, the
          province. Sizes follow Zipf's law
        - ``HHSIZE``: members of the household, 1 to 8
        - ``SEX``: 1 male, 2 female
        - ``AGE``: 0 to 99
        - ``MARSTAT``: 1 never married, 2 married, 3 widowed, 4 divorced
        - ``EDUCATION``: 0 below school age, 1 primary to 5 higher degree
        - ``CITIZENSHIP``: 1 the country's own, 2 to 60 others, ever rarer
        - ``INCOME``: a year's, 0 below 16; not a key variable
        - ``WEIGHT``: design weight, at least 1, one for each household; the sum is
          the size of the population but for rounding to cents

    Raises
    ------
    TypeError
        If ``n`` is not an integer or ``rng`` not a `numpy.random.Generator`.
    ValueError
        If ``n`` is not positive, or 2^31 or more, or ``fraction`` outside (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> survey = microdata(1000, np.random.default_rng(1))
    >>> bool(1000 <= len(survey["AGE"]) <= 1007)
    True
    """
    n = arguments.whole("n", n)
    if n < 1:
        raise ValueError(f"n: need at least 1 record, got {n}")
    if n >= 2**31:
        raise ValueError(f"n: need fewer than 2^31 records, got {n}")
    _check_generator(rng)
    if not 0.0 < arguments.number("fraction", fraction) <= 1.0:
        raise ValueError(f"fraction: need a number in (0, 1], got {fraction}")
    size = _household_sizes(n, rng)
    region, weight = _regions(size, fraction, rng)
    household = np.repeat(np.arange(len(size)), size)
    person = np.arange(len(household)) - (np.cumsum(size) - size)[household]
    couple = _couples(size, rng)
    partnered = couple[household] & (person < 2)
    child = (person > 0) & ~partnered
    age = _ages(size, couple, household, person, child, rng)
    sex = _sexes(couple, household, person, rng)
    education = _educations(age, household, rng)
    return {
        "HOUSEHOLD": household + 1,
        "PERSON": person + 1,
        "REGION": region[household],
        "HHSIZE": size[household],
        "SEX": sex,
        "AGE": age,
        "MARSTAT": _marital_status(age, partnered, child, household, rng),
        "EDUCATION": education,
        "CITIZENSHIP": _citizenships(household, rng),
        "INCOME": _incomes(age, education, rng),
        "WEIGHT": weight[household],
    }


def _draw(weights: Any, count: int, rng: np.random.Generator) -> Ints:
    """Draw positions with probabilities proportional to the weights."""
    cumulative = np.cumsum(weights)
    uniform = rng.random(count) * cumulative[-1]
    drawn: Ints = np.searchsorted(cumulative[:-1], uniform, side="right")
    return drawn


def _household_sizes(n: int, rng: np.random.Generator) -> Ints:
    """Draw whole households until they have n members."""
    size: Ints = 1 + _draw(_HOUSEHOLD_SIZES, n, rng)
    return size[: 1 + np.searchsorted(np.cumsum(size), n)]


def _regions(
    size: Ints, fraction: float, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Return each household's region, rising, and its weight.

    Small regions are sampled more densely. The population beyond the sample is shared
    out to households in proportion to 1/sampling rate of the region and a calibration
    factor, so that weights are never below 1 and add up to the population.
    """
    province = 1.0 / np.arange(1, _PROVINCES + 1) ** 0.7
    municipality = 1.0 / np.arange(1, _MUNICIPALITIES + 1)
    share = np.outer(province, municipality).ravel()
    stratum = np.sort(_draw(share**0.7, len(size), rng))
    factor = (share / np.maximum(np.bincount(stratum, minlength=len(share)), 1))[
        stratum
    ] * np.exp(0.1 * rng.standard_normal(len(size)))
    records = size.sum()
    unseen = records / fraction - records
    weight = 1.0 + factor * (unseen / (factor * size).sum())
    region = 100 * (stratum // _MUNICIPALITIES + 1) + stratum % _MUNICIPALITIES + 1
    return region, np.round(weight, 2)


def _couples(size: Ints, rng: np.random.Generator) -> Mask:
    """Draw the households led by a couple; the others of two or more by one parent."""
    return (size > 1) & (rng.random(len(size)) < np.where(size == 2, 0.75, 0.85))


def _ages(
    size: Ints,
    couple: Mask,
    household: Ints,
    person: Ints,
    child: Mask,
    rng: np.random.Generator,
) -> Ints:
    """Draw ages: the head's by household size, then the partner's, then children's."""
    count = len(size)
    alone = 18 + 78 * rng.beta(1.4, 1.3, count)
    pair = 19 + 74 * rng.beta(1.9, 1.5, count)
    family = 22 + 48 * rng.beta(2.2, 2.6, count)
    head = np.where(size == 1, alone, np.where(size == 2, pair, family))
    partner = np.clip(head + rng.normal(-2.0, 4.0, count), 18.0, 99.0)
    parent = np.where(couple, np.minimum(head, partner), head)
    parent = np.floor(parent)[household]
    # A parent was 17 to 42 at a child's birth, and 18 or more now.
    oldest = np.minimum(parent, 42.0)
    gap = 17.0 + rng.beta(2.0, 2.0, len(household)) * (oldest - 17.0)
    adult = np.where(person == 0, head[household], partner[household])
    age = np.where(child, parent - gap, adult)
    return np.floor(age).astype(np.int64)


def _sexes(
    couple: Mask, household: Ints, person: Ints, rng: np.random.Generator
) -> Ints:
    """Draw sexes: nearly all partners' differ; parents alone are mostly women."""
    count = len(couple)
    member = np.bincount(household, minlength=count)
    male_head = np.where(couple, 0.7, np.where(member == 1, 0.45, 0.2))
    head = rng.random(count) < male_head
    partner = head ^ (rng.random(count) < 0.98)
    child = rng.random(len(household)) < 0.512
    second = (person == 1) & couple[household]
    male = np.where(
        person == 0, head[household], np.where(second, partner[household], child)
    )
    return np.where(male, _MALE, _FEMALE)


def _marital_status(
    age: Ints, partnered: Mask, child: Mask, household: Ints, rng: np.random.Generator
) -> Ints:
    """Draw marital status by age; partners are married to each other or not at all."""
    chance = rng.random(len(age))
    by_couple = rng.random(household[-1] + 1)[household]
    head_age = age[np.searchsorted(household, household)]
    married = partnered & (by_couple < np.clip((head_age - 18) / 20, 0.1, 0.85))
    widowed = np.clip((age - 45) / 60, 0.0, 0.75)
    divorced = np.clip((age - 25) / 60, 0.0, 0.3)
    status: Ints = np.where(
        chance < widowed,
        _WIDOWED,
        np.where(chance < widowed + divorced, _DIVORCED, _NEVER_MARRIED),
    )
    status[child & (age < 30)] = _NEVER_MARRIED
    status[married] = _MARRIED
    return status


def _educations(age: Ints, household: Ints, rng: np.random.Generator) -> Ints:
    """Draw levels, alike within a household and higher for the younger; age limits."""
    home = rng.standard_normal(household[-1] + 1)[household]
    own = rng.standard_normal(len(age))
    latent = 0.6 * home + 0.8 * own + 0.4 * (age < 45) - 0.5 * (age > 70)
    level = 1 + np.searchsorted([-1.2, -0.3, 0.6, 1.4], latent)
    limit = np.searchsorted([6, 12, 16, 19, 22], age, side="right")
    attained: Ints = np.minimum(level, limit)
    return attained


def _citizenships(household: Ints, rng: np.random.Generator) -> Ints:
    """Draw citizenships: one for each household, one person in 25 has another."""
    foreign = 1.0 / np.arange(1, _COUNTRIES)
    own_country = foreign.sum() * (1.0 - _FOREIGN) / _FOREIGN
    weights = np.concatenate([[own_country], foreign])
    shared = 1 + _draw(weights, household[-1] + 1, rng)[household]
    own = 1 + _draw(weights, len(household), rng)
    return np.where(rng.random(len(household)) < 0.04, own, shared)


def _incomes(age: Ints, education: Ints, rng: np.random.Generator) -> Ints:
    """Draw log-normal incomes that rise with education, in tens, with zeros."""
    typical = 9.3 + 0.25 * education - ((age - 48) / 45) ** 2
    income = 10 * np.round(np.exp(typical + 0.6 * rng.standard_normal(len(age))) / 10)
    none = (age < 16) | (rng.random(len(age)) < 0.08)
    return np.where(none, 0, income).astype(np.int64)
