"""Simulate a survey of living conditions of households."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.simulate.populations import Floats, Ints, Mask

# 2,000 households by size, region and area, land and religion: Benschop, Machingauta
# and Welch, Statistical Disclosure Control: A Practice Guide, case study 1, step 8a,
# the section on utility, and appendix C.
_SIZES = {
    1: 152, 2: 194, 3: 238, 4: 295, 5: 276, 6: 252, 7: 214, 8: 134, 9: 84, 10: 66,
    11: 34, 12: 21, 13: 11, 14: 6, 15: 6, 16: 5, 17: 4, 18: 2, 19: 1, 20: 2, 21: 1,
    22: 1, 33: 1,
}  # fmt: skip
_RURAL, _URBAN = 1, 2
_REGIONS = {
    (1, _RURAL): 235, (1, _URBAN): 89, (2, _RURAL): 261, (2, _URBAN): 73,
    (3, _RURAL): 295, (3, _URBAN): 76, (4, _RURAL): 304, (4, _URBAN): 71,
    (5, _RURAL): 121, (5, _URBAN): 139, (6, _RURAL): 100, (6, _URBAN): 236,
}  # fmt: skip
_NO_LAND, _NO_RELIGION = 9, 99999
_LAND = {1: 763, 2: 500, 3: 332, _NO_LAND: 405}
_RELIGIONS = {1: 179, 5: 383, 9: 154, 7: 7, 6: 267, _NO_RELIGION: 1010}
_ROOFS = {1: 27, 3: 914, 4: 307, 5: 711, 9: 10, 2: 31}

_HEAD, _SPOUSE, _CHILD, _PARENT, _GRANDCHILD = range(1, 6)
_IN_LAW, _OTHER, _HELP, _NONE = range(6, 10)
_NEVER, _MONOGAMOUS, _POLYGAMOUS, _UNION, _DIVORCED, _WIDOWED = range(1, 7)
_NOT_ASKED, _NO_INDUSTRY = 9, 99
_FEMALE, _MALE = 0, 1


def household_survey(households: int, rng: Generator) -> dict[str, NDArray[Any]]:
    """Return a survey of living conditions: persons in households, large ones too.

    With 2,000 households it has the shape of the file of the case studies in
    *Statistical Disclosure Control: A Practice Guide* (Benschop, Machingauta and Welch)
    and the margins printed there: 10,574 persons, and the numbers of households by
    size, by region and area, by religion and by land. All else is simulated.

    Parameters
    ----------
    households : int
        Number of households.
    rng : numpy.random.Generator
        Source of all chance: the same state gives the same file.

    Returns
    -------
    dict of str to ndarray
        Columns of equal length, a row for each person; the members of a household are
        neighbors, its head first. `household_survey_labels` has the labels of codes.

        - household: ``IDH``, from 1; ``PHONE``, a random number; ``REGION``;
          ``URBRUR``; ``HHSIZE``, 1 to 33; ``RELIG``, 99999 if not stated;
          ``OWNAGLAND``, 9 if not stated; ``LANDSIZEHA``, hectares; ``ROOF``; ``TV``;
          ``CAR``; ``TANHHEXP`` and ``INCTOTGROSSHH``, expenditure and income of a year
        - person: ``IDP``, from 1 in each household; ``GENDER``; ``REL``;
          ``MARITAL``; ``AGEYRS``, 0 to 95; ``EDUCY``; ``ATSCHOOL``; ``INDUSTRY1``
        - ``WGTHH``, the weight of the household and of each member, and ``WGTPOP``,
          that times ``HHSIZE``

    Raises
    ------
    TypeError
        If ``households`` is not an integer or ``rng`` not a `numpy.random.Generator`.
    ValueError
        If ``households`` is not positive, or 2^26 or more.

    Examples
    --------
    >>> import numpy as np
    >>> survey = household_survey(2000, np.random.default_rng(1))
    >>> len(survey["IDH"]), int(survey["HHSIZE"].max())
    (10574, 33)
    """
    n = arguments.whole("households", households)
    if n < 1:
        raise ValueError(f"households: need at least 1, got {n}")
    if n >= 2**26:
        raise ValueError(f"households: need fewer than 2^26, got {n}")
    arguments.generator("rng", rng)
    home = _homes(n, rng)
    size = home["HHSIZE"]
    household = np.repeat(np.arange(n), size)
    person = np.arange(len(household)) - (np.cumsum(size) - size)[household]
    urban = home["URBRUR"][household] == _URBAN
    couple = (size > 1) & (rng.random(n) < 0.78)
    relation = _relations(couple, household, person, rng)
    age = _ages(n, relation, household, rng)
    school = _at_school(age, rng)
    shared = {name: column[household] for name, column in home.items()}
    weight = shared.pop("WGTHH")
    return {
        **shared,
        "IDP": person + 1,
        "GENDER": _genders(relation, couple, household, rng),
        "REL": relation,
        "MARITAL": _marital_status(relation, couple[household], age, rng),
        "AGEYRS": age,
        "EDUCY": _educations(age, urban, household, rng),
        "ATSCHOOL": school,
        "INDUSTRY1": _industries(age, school == 1, urban, rng),
        "WGTHH": weight,
        "WGTPOP": np.round(weight * size[household], 2),
    }


def household_survey_labels() -> dict[str, dict[str, Any]]:
    """Return the labels of the columns of `household_survey` and of their codes.

    Returns
    -------
    dict of str to dict
        For each column its ``label`` and the labels of its codes, given as text, in
        ``values``.

    Examples
    --------
    >>> household_survey_labels()["GENDER"]
    {'label': 'Sex', 'values': {'0': 'female', '1': 'male'}}
    """
    return {
        name: {"label": label, "values": {str(k): text for k, text in codes.items()}}
        for name, (label, codes) in _LABELS.items()
    }


_YES_NO = {0: "no", 1: "yes"}
_LABELS: dict[str, tuple[str, dict[int, str]]] = {
    "IDH": ("Household", {}),
    "PHONE": ("Telephone number", {}),
    "REGION": ("Region", {k: f"region {k}" for k in range(1, 7)}),
    "URBRUR": ("Area", {_RURAL: "rural", _URBAN: "urban"}),
    "HHSIZE": ("Members of the household", {}),
    "RELIG": ("Religion of the head", {
        1: "religion 1", 5: "religion 5", 6: "religion 6", 7: "religion 7",
        9: "another", _NO_RELIGION: "not stated",
    }),
    "OWNAGLAND": ("Agricultural land", {
        1: "own", 2: "rented", 3: "none", _NO_LAND: "not stated",
    }),
    "LANDSIZEHA": ("Land in hectares", {}),
    "ROOF": ("Roof", {
        1: "concrete", 2: "wood", 3: "metal", 4: "tiles", 5: "thatch", 9: "another",
    }),
    "TV": ("Television", _YES_NO),
    "CAR": ("Car", _YES_NO),
    "TANHHEXP": ("Expenditure of the household in a year", {}),
    "INCTOTGROSSHH": ("Gross income of the household in a year", {}),
    "IDP": ("Person in the household", {}),
    "GENDER": ("Sex", {_FEMALE: "female", _MALE: "male"}),
    "REL": ("Relation to the head", {
        _HEAD: "head", _SPOUSE: "spouse", _CHILD: "child", _PARENT: "parent",
        _GRANDCHILD: "grandchild", _IN_LAW: "child in law", _OTHER: "other relative",
        _HELP: "domestic help", _NONE: "not related",
    }),
    "MARITAL": ("Marital status", {
        _NEVER: "never married", _MONOGAMOUS: "married, monogamous",
        _POLYGAMOUS: "married, polygamous", _UNION: "living together",
        _DIVORCED: "divorced or separated", _WIDOWED: "widowed",
        _NOT_ASKED: "below 12, not asked",
    }),
    "AGEYRS": ("Age in years", {}),
    "EDUCY": ("Highest education", {
        0: "none", 1: "some primary", 2: "primary", 3: "lower secondary",
        4: "upper secondary", 5: "technical", 6: "university",
        _NOT_ASKED: "below 5, not asked",
    }),
    "ATSCHOOL": ("At school", {**_YES_NO, _NOT_ASKED: "below 5, not asked"}),
    "INDUSTRY1": ("Industry", {
        1: "agriculture", 2: "mining", 3: "manufacturing", 4: "utilities",
        5: "construction", 6: "trade", 7: "transport", 8: "finance",
        9: "public administration", 10: "other services", _NO_INDUSTRY: "does not work",
    }),
    "WGTHH": ("Weight of the household and of each member", {}),
    "WGTPOP": ("Weight of the household times its members", {}),
}  # fmt: skip


def _homes(n: int, rng: Generator) -> dict[str, NDArray[Any]]:
    """Draw the columns of households."""
    places = np.array(list(_REGIONS))
    place = np.sort(_shared_out(range(len(places)), _REGIONS.values(), n))
    region, area = places[place].T
    urban = area == _URBAN
    size = _by_rank(_SIZES, rng.standard_normal(n) - 0.3 * urban)
    land = _by_rank(_LAND, rng.standard_normal(n) + 1.2 * urban)
    religion = _by_rank(_RELIGIONS, rng.standard_normal(n) + 0.25 * region)
    wealth = rng.standard_normal(n) + 0.6 * urban
    hectares = np.exp(0.3 + 1.3 * rng.standard_normal(n) + 0.05 * size)
    income = np.exp(9.5 + 0.7 * wealth + 0.04 * size)
    weight = np.exp(5.7 + 0.15 * (region - 3) + 0.75 * rng.standard_normal(n))
    return {
        "IDH": np.arange(1, n + 1),
        "PHONE": 70_000_000 + rng.permutation(n) * 13,
        "REGION": region,
        "URBRUR": area,
        "HHSIZE": size,
        "RELIG": religion,
        "OWNAGLAND": land,
        "LANDSIZEHA": np.where(land == 1, np.round(hectares, 2), 0.0),
        "ROOF": _by_rank(_ROOFS, rng.standard_normal(n) - wealth),
        "TV": (wealth + 0.5 * rng.standard_normal(n) > 0.9).astype(np.int64),
        "CAR": (wealth + 0.4 * rng.standard_normal(n) > 1.9).astype(np.int64),
        "TANHHEXP": np.round(income * np.exp(0.3 * rng.standard_normal(n)), 2),
        "INCTOTGROSSHH": np.round(income, 2),
        "WGTHH": np.round(1.0 + weight, 2),
    }


def _shared_out(codes: Sequence[int], counts: Any, n: int) -> Ints:
    """Return n codes in proportion to counts, by the largest-remainder method."""
    share = np.fromiter(counts, float)
    exact = share * (n / share.sum())
    whole = np.floor(exact).astype(np.int64)
    rest = np.argsort(whole - exact, kind="stable")[: n - whole.sum()]
    whole[rest] += 1
    return np.repeat(np.asarray(codes, np.int64), whole)


def _by_rank(counts: dict[int, int], score: Floats) -> Ints:
    """Return codes in proportion to counts, ordered as the scores are."""
    codes = np.empty(len(score), np.int64)
    codes[np.argsort(score)] = _shared_out(list(counts), counts.values(), len(score))
    return codes


def _drawn(codes: list[int], chances: list[float], u: Floats) -> Ints:
    """Return codes drawn by their probabilities with uniform numbers."""
    return np.array(codes)[np.searchsorted(np.cumsum(chances)[:-1], u, "right")]


def _relations(couple: Mask, household: Ints, person: Ints, rng: Generator) -> Ints:
    """Draw the relation of each member to the head, the first member."""
    u = rng.random(len(household))
    near = _drawn([_CHILD, _PARENT, _OTHER, _NONE], [0.93, 0.01, 0.05, 0.01], u)
    far = _drawn(
        [_CHILD, _GRANDCHILD, _IN_LAW, _OTHER, _HELP, _NONE],
        [0.66, 0.16, 0.01, 0.15, 0.009, 0.011],
        u,
    )
    relation = np.where(person < 4, near, far)
    relation[(person == 1) & couple[household]] = _SPOUSE
    relation[person == 0] = _HEAD
    return relation


def _ages(n: int, relation: Ints, household: Ints, rng: Generator) -> Ints:
    """Draw ages: of the head, then of the others from it."""
    head = (19 + 74 * rng.beta(1.7, 2.6, n))[household]
    u = rng.random(len(household))
    kinds = [
        (_HEAD, head),
        (_SPOUSE, head - 9 + 10 * u),
        (_CHILD, (head - 17) * (1 - np.sqrt(u))),
        (_PARENT, head + 18 + 15 * u),
        (_GRANDCHILD, 17 * u),
        (_IN_LAW, 17 + 20 * u),
        (_OTHER, 70 * u**1.6),
        (_HELP, 12 + 38 * u),
        (_NONE, 8 + 55 * u),
    ]
    age = np.select([relation == kind for kind, _ in kinds], [own for _, own in kinds])
    youngest = np.where(np.isin(relation, [_HEAD, _SPOUSE]), 16, 0)
    limited: Ints = np.clip(np.floor(age), youngest, 95).astype(np.int64)
    return limited


def _genders(relation: Ints, couple: Mask, household: Ints, rng: Generator) -> Ints:
    """Draw sexes: heads of couples are mostly men, spouses of the other sex."""
    head = rng.random(len(couple)) < np.where(couple, 0.93, 0.4)
    other = rng.random(len(household)) < 0.49
    male = np.select(
        [relation == _HEAD, relation == _SPOUSE],
        [head[household], ~head[household]],
        other,
    )
    return np.where(male, _MALE, _FEMALE)


def _marital_status(relation: Ints, couple: Mask, age: Ints, rng: Generator) -> Ints:
    """Draw marital status by relation and age, the same for a couple."""
    u = rng.random(len(age))
    pair = np.isin(relation, [_HEAD, _SPOUSE]) & couple
    # Both partners of a couple take the random number of the head.
    head = np.maximum.accumulate(np.where(relation == _HEAD, np.arange(len(age)), 0))
    of_couple = _drawn([_MONOGAMOUS, _POLYGAMOUS, _UNION], [0.78, 0.13, 0.09], u[head])
    widowed = np.clip((age - 25) / 65, 0.0, 0.9)
    single = np.where(
        u < widowed, _WIDOWED, np.where(u < widowed + 0.12, _DIVORCED, _NEVER)
    )
    young = (age < 18) & (relation != _IN_LAW)
    wed = (relation == _IN_LAW) | (
        (relation == _OTHER) & (age > 24) & (rng.random(len(age)) < 0.5)
    )
    return np.select(
        [pair, age < 12, young, wed],
        [
            of_couple,
            np.full(len(age), _NOT_ASKED),
            np.full(len(age), _NEVER),
            np.full(len(age), _MONOGAMOUS),
        ],
        single,
    )


def _educations(age: Ints, urban: Mask, household: Ints, rng: Generator) -> Ints:
    """Draw levels, similar in a household, higher in towns, limited by age."""
    home = rng.standard_normal(household[-1] + 1)[household]
    latent = 0.6 * home + 0.8 * rng.standard_normal(len(age)) + 0.6 * urban
    level = np.searchsorted([-1.0, 1.1, 1.8, 2.3, 2.6, 2.8], latent)
    limit = np.searchsorted([6, 12, 15, 18, 19, 22], age, side="right")
    return np.where(age < 5, _NOT_ASKED, np.minimum(level, limit))


def _at_school(age: Ints, rng: Generator) -> Ints:
    """Draw school attendance: most from 6 to 14, some up to 24."""
    chance = np.select([age < 6, age < 15, age < 19, age < 25], [0.2, 0.93, 0.5, 0.05])
    return np.where(age < 5, _NOT_ASKED, rng.random(len(age)) < chance).astype(np.int64)


def _industries(age: Ints, school: Mask, urban: Mask, rng: Generator) -> Ints:
    """Draw industries of workers: mostly agriculture, less in towns."""
    u = rng.random(len(age))
    others = _drawn(
        [2, 3, 4, 5, 6, 7, 8, 9, 10],
        [0.012, 0.125, 0.002, 0.076, 0.397, 0.078, 0.014, 0.057, 0.239],
        rng.random(len(age)),
    )
    farmer = u < np.where(urban, 0.6, 0.95)
    idle = (age < 15) | (rng.random(len(age)) < np.where(school, 0.8, 0.12))
    return np.where(idle, _NO_INDUSTRY, np.where(farmer, 1, others))
