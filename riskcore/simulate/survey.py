"""Simulate a census-like file of persons in households, with weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.simulate.populations import Floats, Ints, Mask

_PROVINCES, _MUNICIPALITIES = 12, 40
_FOREIGN, _COUNTRIES = 0.08, 60
_MALE, _FEMALE = 1, 2
_NEVER_MARRIED, _MARRIED, _WIDOWED, _DIVORCED = 1, 2, 3, 4
_HOUSEHOLD_SIZES = [0.33, 0.32, 0.15, 0.13, 0.05, 0.014, 0.004, 0.002]


def microdata(
    n: int, rng: Generator, fraction: float = 0.01
) -> dict[str, NDArray[Any]]:
    """Return a survey file like a census sample: persons in whole households.

    Households are drawn, with unequal probabilities by region, from a synthetic
    population of independent households.

    Parameters
    ----------
    n : int
        Number of records. The last household is kept whole, so there may be up to 7
        more.
    rng : numpy.random.Generator
        Source of all chance: the same state gives the same file.
    fraction : float
        Sampling fraction, in (0, 1]: the file stands for a population of
        ``records / fraction`` persons.

    Returns
    -------
    dict of str to ndarray
        Columns of equal length; the members of a household are neighbors.

        - ``HOUSEHOLD``, from 1, and ``PERSON``, from 1 in each household
        - ``REGION``: municipality, 101 to 1240; without the last two digits, the
          province. Sizes follow Zipf's law
        - ``HHSIZE``: members of the household, 1 to 8
        - ``SEX``: 1 male, 2 female
        - ``AGE``: 0 to 99
        - ``MARSTAT``: 1 never married, 2 married, 3 widowed, 4 divorced
        - ``EDUCATION``: 0 below school age, 1 primary to 5 higher degree
        - ``CITIZENSHIP``: 1 native, 2 to 60 foreign, in order of frequency
        - ``INCOME``: in a year, 0 below age 16; not a key variable
        - ``WEIGHT``: design weight, at least 1, rounded to cents, one for each
          household; the sum is the size of the population

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
    arguments.generator("rng", rng)
    arguments.number_in("fraction", fraction, "(0, 1]")
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


def _draw(weights: Any, count: int, rng: Generator) -> Ints:
    """Draw positions with probabilities proportional to the weights."""
    cumulative = np.cumsum(weights)
    uniform = rng.random(count) * cumulative[-1]
    drawn: Ints = np.searchsorted(cumulative[:-1], uniform, side="right")
    return drawn


def _household_sizes(n: int, rng: Generator) -> Ints:
    """Draw whole households until they have n members."""
    size: Ints = 1 + _draw(_HOUSEHOLD_SIZES, n, rng)
    return size[: 1 + np.searchsorted(np.cumsum(size), n)]


def _regions(size: Ints, fraction: float, rng: Generator) -> tuple[Ints, Floats]:
    """Return each household's region, rising, and its weight."""
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


def _couples(size: Ints, rng: Generator) -> Mask:
    """Draw which households a couple heads; in others of two or more, one parent."""
    return (size > 1) & (rng.random(len(size)) < np.where(size == 2, 0.75, 0.85))


def _ages(
    size: Ints,
    couple: Mask,
    household: Ints,
    person: Ints,
    child: Mask,
    rng: Generator,
) -> Ints:
    """Draw ages: of the head by household size, then of the partner and children."""
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


def _sexes(couple: Mask, household: Ints, person: Ints, rng: Generator) -> Ints:
    """Draw sexes: nearly all partners differ; single parents are mostly women."""
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
    age: Ints, partnered: Mask, child: Mask, household: Ints, rng: Generator
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


def _educations(age: Ints, household: Ints, rng: Generator) -> Ints:
    """Draw levels, similar in a household, higher for the young, limited by age."""
    home = rng.standard_normal(household[-1] + 1)[household]
    own = rng.standard_normal(len(age))
    latent = 0.6 * home + 0.8 * own + 0.4 * (age < 45) - 0.5 * (age > 70)
    level = 1 + np.searchsorted([-1.2, -0.3, 0.6, 1.4], latent)
    limit = np.searchsorted([6, 12, 16, 19, 22], age, side="right")
    attained: Ints = np.minimum(level, limit)
    return attained


def _citizenships(household: Ints, rng: Generator) -> Ints:
    """Draw a citizenship for each household; one person in 25 has another."""
    foreign = 1.0 / np.arange(1, _COUNTRIES)
    own_country = foreign.sum() * (1.0 - _FOREIGN) / _FOREIGN
    weights = np.concatenate([[own_country], foreign])
    shared = 1 + _draw(weights, household[-1] + 1, rng)[household]
    own = 1 + _draw(weights, len(household), rng)
    return np.where(rng.random(len(household)) < 0.04, own, shared)


def _incomes(age: Ints, education: Ints, rng: Generator) -> Ints:
    """Draw log-normal incomes that rise with education, in tens, with zeros."""
    typical = 9.3 + 0.25 * education - ((age - 48) / 45) ** 2
    income = 10 * np.round(np.exp(typical + 0.6 * rng.standard_normal(len(age))) / 10)
    none = (age < 16) | (rng.random(len(age)) < 0.08)
    return np.where(none, 0, income).astype(np.int64)
