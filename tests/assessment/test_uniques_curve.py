"""The curve of the share of people whom one guess by their cell finds."""

import json

import numpy as np
import pytest

import riskcore
from riskcore import chart
from riskcore.models import Ewens, SizeIndices


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(9)
    data = {"a": rng.zipf(1.6, 800).clip(max=300), "b": rng.integers(0, 4, 800)}
    return riskcore.estimate_uniques(data, ["a", "b"], population=40_000)


def test_each_model_at_each_size(found):
    curve = found.curve(20)
    assert curve.people[0] == 1
    assert curve.people[-1] == 40_000
    assert 800 in curve.people
    assert (np.diff(curve.people) > 0).all()
    converged = {one.model for one in found.estimates if one.converged}
    # Lancaster's model and the weights have no such share.
    assert set(curve.models) == converged & {
        "Dirichlet-multinomial", "Poisson-gamma", "Ewens", "Ewens, moments", "Pitman",
        "Pitman, moments", "latent-class",
    }  # fmt: skip
    classes = found.cell_models["latent-class"]
    assert curve.models["latent-class"][-1] == classes.correctness(40_000)
    ends = classes.correctness_interval(40_000)
    assert tuple(end[-1] for end in curve.intervals["latent-class"]) == ends
    for i, N in enumerate(curve.people):
        share = Ewens.fit(found.sizes).correctness(int(N))
        assert curve.models["Ewens"][i] == share
        low, high = (end[i] for end in curve.intervals["Ewens"])
        assert low <= share <= high


def test_up_to_the_sample_it_is_known(found):
    curve = found.curve(20)
    known = curve.people <= 800
    assert not np.isnan(curve.sample[known]).any()
    assert np.isnan(curve.sample[~known]).all()
    at = int(np.flatnonzero(curve.people == 800)[0])
    assert curve.sample[at] == pytest.approx(found.sizes.u / 800)
    # Fitted by the number of cells, Ewens' curve ends where the sample does.
    assert curve.models["Ewens"][at] == pytest.approx(found.sizes.u / 800)


def test_drawn(found):
    axes = chart.curve_figure(found.curve(10)).axes[0]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[-1] == "parts of the sample"
    assert "Pitman" in names


def test_the_command(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    line = ["uniques", "--sizes", "1=40", "2=9", "5=3", "--population", "9000"]
    line += ["--cells", "5000"]
    status, out, err = run(*line, "--curve", "curve.svg", "--plot", "plot.png")
    assert (status, err) == (0, "")
    assert "The curve is in curve.svg." in out
    assert (tmp_path / "curve.svg").read_text().count("<path") > 10
    assert (tmp_path / "plot.png").exists()
    status, out, _ = run(*line, "--curve", "again.svg", "--json")
    plain = json.loads(out)["curve"]
    assert plain["people"][-1] == 9000
    sizes = SizeIndices({1: 40, 2: 9, 5: 3})
    share = Ewens.fit(sizes).correctness(9000)
    assert plain["models"]["Ewens"]["correctness"][-1] == share
    status, _, err = run(*line, "--curve", "curve.svg")
    assert (status, "exists" in err) == (2, True)
    status, _, err = run(*line, "--curve", "curve.txt")
    assert (status, "--curve curve.txt: give a .png" in err) == (2, True)
