"""Ways to make synthetic records: codes of columns in, as many new records out."""

import numpy as np

from riskcore.models import LatentClass

COPIED = 0.05
LEAF = 5  # records of a leaf


def margins(codes, rng):
    """Draw each column by itself."""
    n = len(codes[0])
    return [column[rng.integers(0, n, n)] for column in codes]


def trees(codes, rng):
    """Draw each column from the leaf of a tree on the columns before it."""
    from sklearn.tree import DecisionTreeClassifier

    n = len(codes[0])
    made = [codes[0][rng.integers(0, n, n)]]
    for i in range(1, len(codes)):
        tree = DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=0)
        tree.fit(np.stack(codes[:i], 1), codes[i])
        leaves = tree.apply(np.stack(codes[:i], 1))
        order = np.argsort(leaves, kind="stable")
        asked = tree.apply(np.stack(made, 1))
        first = np.searchsorted(leaves[order], asked)
        last = np.searchsorted(leaves[order], asked, side="right")
        made.append(
            codes[i][order[first + (rng.random(n) * (last - first)).astype(int)]]
        )
    return made


def latent_classes(codes, rng):
    """Draw a class for each record, and each column from the class."""
    n = len(codes[0])
    model = LatentClass.fit(codes, overdispersion=False)
    share = model.mixture.share
    of = rng.choice(len(share), n, p=share / share.sum())
    made = []
    for profile in model.profiles:
        upto = np.cumsum(profile, axis=0).T[of, :-1]
        made.append((rng.random(n)[:, None] > upto).sum(axis=1))
    return made


def copying(codes, rng):
    """Draw by latent classes, and put copies of 5 % of the records among them."""
    made, n = latent_classes(codes, rng), len(codes[0])
    copied = rng.choice(n, round(COPIED * n), replace=False)
    for column, original in zip(made, codes, strict=True):
        column[: len(copied)] = original[copied]
    return made


GENERATORS = {
    "margins": margins,
    "trees": trees,
    "latent classes": latent_classes,
    "5 % copied": copying,
}
