"""What both calibrations share: cells of people, the simulated census, samples."""

import numpy as np

from riskcore.simulate import microdata, sample

PROVINCES = ["PROVINCE", "SEX", "AGE", "MARSTAT", "EDUCATION", "HHSIZE"]
MUNICIPALITIES = ["REGION", *PROVINCES[1:]]


def census_of(people, rng):
    """Return the columns of a simulated census."""
    columns = microdata(people, rng, fraction=1.0)
    columns["PROVINCE"] = columns["REGION"] // 100
    return columns


def cells_of(columns):
    """Return codes, people and levels of the cells that occur, and each one's cell."""
    columns = [np.unique(column, return_inverse=True)[1] for column in columns]
    levels = [int(column.max()) + 1 for column in columns]
    cell = np.ravel_multi_index(columns, levels)
    cells, inverse, people = np.unique(cell, return_inverse=True, return_counts=True)
    return list(np.unravel_index(cells, levels)), people, levels, inverse


def sample_of(frequencies, strata, fraction, rng):
    """Return the sample's frequencies; strata have equal numbers of records."""
    n = round(fraction * int(frequencies.sum()))
    if strata is None:
        return sample(frequencies, n, rng)
    share = n // len(np.unique(strata))
    return sample(frequencies, share, rng, "stratified", strata)
