"""Files of a simulated population, and the measures of others on them."""

import numpy as np

from riskcore.disclosure import known_measures as measures
from riskcore.disclosure.shared_columns import SharedColumn
from riskcore.simulate import microdata

KEYS = ["REGION", "SEX", "AGE", "MARSTAT", "CITIZENSHIP", "HHSIZE"]
TARGET, NUMBERS = "EDUCATION", ["INCOME", "MEMBERS"]


def population(n, seed):
    """Return persons of a simulated population as codes and numbers."""
    rng = np.random.default_rng(seed)
    file = microdata(n, rng, 1.0)
    # Persons in any order: the members of a household are neighbors.
    order = rng.permutation(len(file["AGE"]))[:n]
    codes = {
        "REGION": file["REGION"] // 100 - 1,
        "SEX": file["SEX"] - 1,
        "AGE": file["AGE"],
        "MARSTAT": file["MARSTAT"] - 1,
        "CITIZENSHIP": file["CITIZENSHIP"] - 1,
        "HHSIZE": file["HHSIZE"] - 1,
        TARGET: file["EDUCATION"],
    }
    few = {name: column[order].astype(np.uint8) for name, column in codes.items()}
    income = file["INCOME"][order].astype(float)
    return few | {"INCOME": income, "MEMBERS": file["HHSIZE"][order].astype(float)}


def rows(file, which):
    return {name: column[which] for name, column in file.items()}


def perturbed(file, share, rng):
    """Return a file in which a share of the values come from other records."""
    n = len(file[TARGET])
    return {
        name: np.where(rng.random(n) < share, rng.permutation(column), column)
        for name, column in file.items()
    }


def coded(columns):
    """Return a column of several files as codes of its values."""
    values, code = np.unique(np.concatenate(columns), return_inverse=True)
    ends = np.cumsum([len(one) for one in columns])[:-1]
    return SharedColumn((*np.split(code.astype(np.uint32), ends),), len(values))


def measured(*files, keys=KEYS, target=TARGET, numbers=NUMBERS):
    """Return the measures of an original, a release and perhaps a holdout."""
    return measures.known_measures(
        [coded([file[name] for file in files]) for name in keys],
        {target: coded([file[target] for file in files])},
        [[file[name] for file in files] for name in numbers],
    )


def figures_of(found):
    """Return the figures of measures of one target, by measure."""
    (of_target,) = found.of_targets.values()
    return found.figures | of_target
