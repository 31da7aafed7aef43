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
    run = peers.in_python if package in ("SDMetrics", "Anonymeter") else peers.in_r
    return run(package, bench.in_words(files), bench.setting(orders=30))


@needs.synthpop
def test_synthpop_has_the_same_figures(files, ours):
    theirs = told("synthpop", files)
    for part in ("replicated uniques", "DiSCO"):
        for name, figure in ours[part].items():
            if " " not in name:
                assert figure == pytest.approx(theirs[name][0], rel=1e-13)
    for name in ("baseCAPd", "CAPd", "CAPs", "DCAP"):
        assert 100 * ours["CAP"][name] == pytest.approx(theirs[name][0], rel=1e-13)
    tcap = 100 * ours["TCAP"]["TCAP matched"]
    assert tcap == pytest.approx(theirs["TCAP"][0], rel=1e-13)
    numbers = ["synthetic uniques in original", "replicated uniques"]
    assert [ours["replicated uniques"][name] for name in numbers] == theirs[
        "replicated"
    ][2:]
    assert theirs["replicated"][3] > 20


@needs.riskutility
def test_riskutility_has_the_same_figures(files, ours):
    theirs = told("riskutility", files)
    tcap = [ours["TCAP"][name] for name in ("TCAP certain", "TCAP matched", "TCAP")]
    assert 100 * np.array(tcap) == pytest.approx(theirs["tcap"][:3], rel=1e-13)
    assert ours["CAP"]["CAP"] == pytest.approx(theirs["dcap"][0], rel=1e-13)
    presence = [
        ours["delta-presence"][name] for name in ("delta_min", "delta_max", "mean")
    ]
    assert presence == pytest.approx(theirs["delta_presence"], rel=1e-13)
    distances = [ours["DCR and NNDR"]["DCR"], ours["DCR and NNDR"]["NNDR"]]
    assert distances == pytest.approx(theirs["gower"][::2], rel=1e-12)
    # Rounding puts a record that is as close to both files to one of them.
    assert ours["DCR share"]["closer"] == pytest.approx(theirs["gower"][1], abs=2 / 300)


@needs.privacy_metrics
def test_sdmetrics_has_the_same_scores(files, ours):
    theirs = told("SDMetrics", files)
    for name, score in (
        ours["CategoricalCAP"] | ours["DCROverfittingProtection"]
    ).items():
        assert score == pytest.approx(theirs[name][0], rel=1e-12)


@needs.privacy_metrics
def test_anonymeter_draws_from_the_same_queries(files, ours):
    theirs = told("Anonymeter", files)
    of_keys = bench.figures_of(bench.measured(*files.values(), numbers=[]))
    single, mixed = of_keys["singling out"], ours["singling out"]
    (right, at_random), _ = theirs["singling out"]
    for rate, found in (
        (single["attack_rate"], right),
        (single["baseline_rate"], at_random),
        (mixed["attack_rate"], theirs["with numbers"][0][0]),
    ):
        error = np.sqrt(rate * (1 - rate) / bench.ATTACKS)
        assert found / bench.ATTACKS == pytest.approx(rate, abs=4 * error)
    links = np.array(theirs["linkability"][0])
    error = links.std() / np.sqrt(len(links) - 1)
    assert links.mean() == pytest.approx(ours["linkability"]["links"], abs=4 * error)
    assert links.mean() > 4 * error
