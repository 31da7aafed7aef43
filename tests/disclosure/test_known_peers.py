"""Measures of others beside the packages that report them, on small files."""

import numpy as np
import pytest

from bench import _audit_peers as peers
from bench import known_measures as bench
from tests import needs


@pytest.fixture(scope="module")
def files():
    """Return an original, a release and a holdout of 300 persons each."""
    everybody = bench.population(900, 4)
    original, holdout = (bench.rows(everybody, slice(at, at + 300)) for at in (0, 300))
    released = bench.perturbed(original, 0.2, np.random.default_rng(5))
    return {"original": original, "released": released, "holdout": holdout}


@pytest.fixture(scope="module")
def ours(files):
    return bench.figures_of(bench.measured(*files.values()))


def told(package, files):
    """Return what a package tells of files."""
    return peers.told_by(package, bench.in_words(files), bench.setting(orders=30))


@needs.synthpop
def test_synthpop_has_the_same_figures(files, ours):
    theirs = told("synthpop", files)
    for name in ("repU", "DiSCO", "TCAP"):
        assert ours[name] == pytest.approx(theirs[name][0], rel=1e-13)
    assert theirs["repU"][0] > 7


@needs.riskutility
def test_riskutility_has_the_same_figures(files, ours):
    theirs = told("riskutility", files)
    assert ours["TCAP"] == pytest.approx(theirs["tcap"][1], rel=1e-13)
    distances = [ours["DCR"], ours["NNDR"]]
    assert distances == pytest.approx(theirs["gower"][::2], rel=1e-12)


@needs.anonymeter
def test_anonymeter_draws_from_the_same_queries(files, ours):
    theirs = told("Anonymeter", files)
    rate, found = ours["singling out"], theirs["singling out"][0]
    error = np.sqrt(rate * (1 - rate) / bench.ATTACKS)
    assert found / bench.ATTACKS == pytest.approx(rate, abs=4 * error)
    links = np.array(theirs["linkability"][0])
    error = links.std() / np.sqrt(len(links) - 1)
    assert links.mean() == pytest.approx(ours["linkability"], abs=4 * error)
    assert links.mean() > 4 * error
