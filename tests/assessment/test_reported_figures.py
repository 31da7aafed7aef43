"""The declaration of the figures: one place, from which every report has its rows."""

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import riskcore
from riskcore import assess, protect, simulate
from riskcore.assessment import reported_figures as figures
from riskcore.assessment.cell_risk import PopulationBelowSample
from riskcore.assessment.reported_figures import FIGURES, Figure, Place, rows, table
from riskcore.common.html import digits
from riskcore.report.page import page
from riskcore.report.summary import summary
from riskcore.report.text import protection_text, text

ROOT = Path(riskcore.__file__).parent


@pytest.fixture(scope="module")
def result():
    data = {
        "k": ["a", "b", "c", None, "d"] * 8, "w": [0.5, 30, 40, 50, 60] * 8,
        "hh": list(range(40)),
    }  # fmt: skip
    with pytest.warns(PopulationBelowSample):
        return assess(data, ["k"], "w", "hh", missing="category")


@pytest.fixture(scope="module")
def protected():
    data = simulate.microdata(900, np.random.default_rng(5))
    return protect(
        data, ["SEX", "AGE"], "WEIGHT", "HOUSEHOLD", threshold=0.05,
        household_threshold=0.01,
    )  # fmt: skip


def test_every_figure_has_a_number_and_a_place(result, protected):
    (stages,) = (one.comparison() for one in protected.sets)
    asked = {"threshold": 0.1, "household_threshold": 0.1}
    data = {"k": ["a", "b", "c", "c"], "w": [3.0] * 4}
    modelled = assess(data, ["k"], "w", population="latent-class")
    known = {
        **modelled.figures, **result.figures, **stages["original"], **asked,
        "records_in_unsafe_households": 1, "intake": {"records": 40},
        "below_k": {"k": 4, "records": 1, "cells": 1},
        "counted": {"level": "household", "records": 9},
        "labels": {"k": {"label": "K", "values": {}}}, "tolerance": {"k": "5%"},
        "weights": summary(result)["weights"], "sampling_fraction": 0.1,
        "by_model": {"expected_reidentifications": 7.0, "population_uniques": 3.0},
        "unsafe_by_model": 3,
    }  # fmt: skip
    for one in FIGURES:
        assert one.value(known) is not None, one.name
        assert one.names, one.name
        assert set(one.names) <= set(get_args(Place))


def test_no_place_shows_two_figures_by_one_name():
    for place in get_args(Place):
        names = [one.names[place] for one in FIGURES if place in one.names]
        assert names
        assert len(set(names)) == len(names)


def test_a_figure_added_to_the_declaration_is_in_every_report(
    result, protected, monkeypatch
):
    everywhere = dict.fromkeys(get_args(Place), "a new figure")
    new = Figure("records", lambda value, *_: f"{value} new", everywhere)
    of_stages = Figure("cells", lambda value, *_: f"{value} new", everywhere)
    monkeypatch.setattr(figures, "FIGURES", (*FIGURES, new, of_stages))
    own = "40 new"
    said = text(summary(result), "title")
    assert re.search(rf"^  a new figure +{own}$", said, re.MULTILINE)
    assert re.search(rf"^    a new figure +{own}$", said, re.MULTILINE)
    assert f">{own}</td>" in result._repr_html_()
    assert f">{own}</td>" in page({"original": result}, title="T")
    assert re.search(
        r"^    a new figure( +\d+ new){2}$",
        protection_text(protected.to_dict(), "title"),
        re.MULTILINE,
    )
    assert re.search(
        r"a new figure</th>(<td[^>]*>\d+ new</td>){2}", protected._repr_html_()
    )


def test_reports_agree_to_their_last_digit(result):
    """The same number: with eight digits in text, on the page with three and all."""
    places = ("text", "page", "notebook")
    written = {place: dict(rows(result.figures, place)) for place in places}
    rate = 100 * result.reidentification_rate
    shown = [written[p]["re-identification rate"] for p in ("text", "notebook")]
    shown.append(written["page"]["Re-identification rate"])
    (row,) = (
        row for row in table([result.figures], "page")
        if row.label == "Re-identification rate"
    )  # fmt: skip
    assert row.exact == [f"{digits(result.reidentification_rate, 2)} %"]
    for one, precision in zip(shown, (8, 6, 3), strict=True):
        assert float(one.strip(" %")) == pytest.approx(rate, rel=10 ** (1 - precision))
    assert shown[0] == f"{rate:.8g} %"


def test_nothing_is_shown_of_nothing(result):
    assert table([{}], "page") == []
    assert rows({"records": 1, "intake": None}, "text") == [("records", "1")]
    whole = assess({"k": [1, 2]}, ["k"]).figures
    names = [row.label for row in table([whole], "page")]
    assert not any("weights add" in name or "Missing" in name for name in names)
    assert "Households" not in names
    names = [row.label for row in table([result.figures], "page")]
    assert any("weights add" in name for name in names)
    assert "Missing values of" in names


def test_a_stage_without_a_figure_is_left_blank_and_zeros_are_zeros():
    stages = [
        {"records": 5, "cells_below_sample": 0, "unsafe_records": 3},
        {"records": 5, "cells_below_sample": 2},
    ]
    values = [row.values for row in table(stages, "page")]
    assert values == [["5", "5"], ["0", "2"], ["3", ""]]


@pytest.mark.parametrize("name", ["population_uniques", "by_model.population_uniques"])
@pytest.mark.parametrize("place", ["text", "page", "notebook"])
def test_an_estimate_of_nobody_is_zero(name, place):
    (figure,) = (one for one in FIGURES if one.name == name)
    for value, written in ((3.8e-60, "0"), (0.25, "0.25")):
        uniques = {"population_uniques": value, "population_uniques_interval": None}
        assert figure.written([value], [{"by_model": uniques}], place) == [written]


def test_stages_have_a_row_for_every_key_that_lacks_values():
    stages = [
        {"missing_values": {"a": 0, "b": 0, "c": 1}},
        {"missing_values": {"a": 2, "b": 0, "d": 0}},
    ]
    found = [(row.of, row.values) for row in table(stages, "page")]
    assert found == [("a", ["0", "2"]), ("c", ["1", ""])]


def test_rows_are_declared_nowhere_else():
    """What reports call the figures stands in the declaration alone."""
    names = {
        name
        for one in FIGURES
        for place, name in one.names.items()
        if place in ("page", "stages") and len(name.split()) > 1
    }
    # The page to hand out has figures of its own, the estimates of uniques too.
    own = {"public_page.py", "text.py"}
    rooms = (ROOT / name for name in ("report", "protection", "cli"))
    files = {path for room in rooms for path in room.rglob("*.*")}
    files.add(ROOT / "assessment" / "assessment.py")
    files = {path for path in files if path.suffix in (".py", ".html")}
    assert len(files) > 30
    for path in files:
        if path.name not in own:
            text = path.read_text()
            assert [name for name in names if f'"{name}"' in text] == [], path


def test_records_and_cells_of_small_f_stand_in_every_report(protected):
    ages = [1, 2, 2, 3, 3, 3, 4, 4, 4, 4] + [5] * 1200 + list(range(6, 1300))
    result = assess({"age": ages}, ["age"])
    assert result.figures["k_anonymity"] == 1
    assert result.figures["below"] == [
        {"k": 2, "records": 1295, "cells": 1295},
        {"k": 3, "records": 1297, "cells": 1296},
        {"k": 5, "records": 1304, "cells": 1298},
    ]
    said = text(summary(result), "title")
    assert re.search(r"^  k-anonymity \(smallest f\) +1$", said, re.M)
    assert re.search(
        r"^  records, f below 2 / 3 / 5 +1,295 / 1,297 / 1,304$", said, re.M
    )
    assert re.search(r"^  cells, f below 2 / 3 / 5 +1,295 / 1,296 / 1,298$", said, re.M)
    made = page({"original": result}, title="T")
    for row in (
        ("2", "1,295", "1,295"),
        ("3", "1,297", "1,296"),
        ("5", "1,304", "1,298"),
    ):
        shown = "".join(f"<t[hd][^>]*>{cell}</t[hd]>" for cell in row)
        assert re.search(shown, made), row
    assert "1,295 / 1,297 / 1,304" in result._repr_html_()
    for stage in protected.sets[0].comparison().values():
        assert [one["k"] for one in stage["below"]] == [2, 3, 5]
    said = protection_text(protected.to_dict(), "title")
    assert re.search(r"^    records, f below 2 / 3 / 5 .*\d /.*\d$", said, re.M)


def survey_of_400():
    """Return a tenth of a population of 4,000."""
    everybody = simulate.microdata(4000, np.random.default_rng(6), fraction=1.0)
    survey = {name: column[::10] for name, column in everybody.items()}
    return survey | {"WEIGHT": np.full(400, 10.0)}


def test_the_model_is_shown_where_the_weights_tell_little():
    survey, keys = survey_of_400(), ["REGION", "SEX", "AGE", "MARSTAT"]
    result = assess(survey, keys, "WEIGHT")
    model = assess(survey, keys, "WEIGHT", population="latent-class")
    told, shown = (dict(rows(result.figures, "text")), page({"a": result}, title="T"))
    low, high = model.expected_reidentifications_interval()
    said = f"{model.expected_reidentifications:,.0f} (95 %: {low:,.0f} to {high:,.0f})"
    assert told["  by the latent-class model"] == said
    alone = result.figures["sample_uniques"]
    assert told["  which to believe"].startswith(
        f"the model: {alone} records are alone"
    )
    assert "Believe the model: " in shown
    assert "which to believe" in result._repr_html_()
    # Not with a model, with few sample uniques, without weights, nor in a census.
    for quiet in (
        model,
        assess(survey, keys, "WEIGHT", population="weights"),
        assess(survey, keys, "WEIGHT", method="series7"),
        assess(survey, ["SEX"], "WEIGHT"),
        assess(survey, keys),
        assess({**survey, "WEIGHT": np.full(400, 1.2)}, keys, "WEIGHT"),
    ):
        assert quiet.by_model is None
        assert "by_model" not in quiet.figures
        assert "  which to believe" not in dict(rows(quiet.figures, "text"))
