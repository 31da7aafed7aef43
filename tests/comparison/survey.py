"""A survey and one of its models, for tests of models and tables."""

import numpy as np
from scipy import special

from riskcore import compare


def survey(seed=1, n=1000):
    """Return a file with categories, numbers, weights and responses."""
    rng = np.random.default_rng(seed)
    data = {
        "sex": rng.integers(1, 3, n),
        "roof": rng.choice([2, 4, 5, 9], n),
        "age": rng.integers(15, 90, n),
        "w": rng.integers(3, 30, n) / 2,
    }
    eta = -1 + 0.8 * (data["sex"] == 2) + 0.6 * (data["roof"] == 5)
    data["work"] = np.where(rng.random(n) < special.expit(eta), "yes", "no")
    data["income"] = 100 * eta + data["age"] + rng.normal(0, 50, n)
    return data


def blanked(data, name, rows):
    values = [None if i in rows else one for i, one in enumerate(data[name].tolist())]
    return {**data, name: values}


def one_model(before, after, formula, keys=("sex", "roof"), weight=None, **options):
    found = compare(before, after, list(keys), weight, models=[formula], **options)
    (model,) = found.models
    return model
