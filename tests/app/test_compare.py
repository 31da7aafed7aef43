"""Before and after: figures of the package, analyses of one's own, all versions."""

import re

import pytest

import riskcore
from riskcore.app import comparisons
from riskcore.app.pages import compare
from riskcore.app.session import OF_WRITING, RefusedError
from riskcore.app.texts import told
from riskcore.protection.trials import try_out
from tests.accepted import ANY_LEAK
from tests.app.client import Client
from tests.app.workbenches import KEYS, ROLES, form

PATIENCE = 60


@pytest.fixture
def bench(opened):
    return opened()


@pytest.fixture
def chosen(opened):
    return opened(roles=ROLES | {"HOUSEHOLD": "identifier"})


def at(bench, name):
    return bench.names.index(name)


def settled(bench):
    """Return the job of the comparison when it has ended."""
    job = bench.comparison()
    assert job.ended.wait(PATIENCE)
    return job


def seen(bench, language="en"):
    settled(bench)
    return compare.view(bench, form(language))


def test_without_keys_the_page_says_what_is_missing(bench):
    found = compare.view(bench, form())
    assert found["work"] == "lacking"
    assert "no column is a key" in found["lacking"]
    assert bench.jobs.of("compare") is None


def test_the_page_waits_for_its_job(chosen):
    found = compare.view(chosen, form())
    assert found["work"] in ("waiting", "running")
    assert "view" not in found
    assert seen(chosen)["work"] == "done"
    assert chosen.jobs.of("compare").kind == "compare"


def test_figures_are_those_of_the_package(chosen, survey):
    found = seen(chosen)
    result = riskcore.protect(survey, KEYS, "WEIGHT", k=3)
    expected = result.compare()
    assert found["missing"] == expected.newly_missing
    assert found["lost"] == pytest.approx(expected.share_lost)
    rows = {row[0]: row for row in found["view"]["distances"][1:]}
    for one in expected.keys:
        assert rows[one.key][1] == f"{one.suppressed:,}"
    assert len(found["view"]["tables"]) == len(KEYS)


def test_a_plan_alone_gives_figures(chosen):
    plan = chosen.plan()
    assert plan.ended.wait(PATIENCE)
    settled(chosen)
    assert [*chosen.history.figures] == [1]


def test_figures_of_versions_are_those_of_trials(chosen, survey):
    settled(chosen)
    chosen.change("k", safe={"k": 5})
    settled(chosen)
    changes = {"3": {"k": 3}, "5": {"k": 5}}
    tried = try_out(survey, KEYS, changes, weight="WEIGHT", **ANY_LEAK)
    for version, name in ((1, "3"), (2, "5")):
        kept, trial = chosen.history.figures[version], tried[name]
        assert kept["values_suppressed"] == trial.values_suppressed
        for figure in comparisons.FIGURES:
            value = getattr(trial, figure)
            assert kept[figure] == pytest.approx(value), figure


def test_figures_hold_no_value_of_the_file(chosen):
    settled(chosen)
    (kept,) = chosen.history.figures.values()
    assert all(isinstance(one, bool | int | float) for one in kept.values())


def test_figures_go_to_the_version_of_the_plan(chosen):
    """A version that was left before its figures were there does not lend its own."""
    plan = chosen.plan()
    chosen.change("k", safe={"k": 4})
    comparisons.comparison(chosen, plan, 2).ended.wait(PATIENCE)
    assert 2 not in chosen.history.figures


def test_versions_with_the_same_plan_share_figures(chosen):
    settled(chosen)
    chosen.change("order", output={"shuffle": True})
    assert 2 not in chosen.history.figures
    found = compare.view(chosen, form())
    assert found["work"] == "done"
    assert chosen.history.figures[2] == chosen.history.figures[1]
    # They are one spot, that of the version that is shown.
    assert [x.name for x, _ in found["picture"]["rows"]] == ["2"]
    chosen.history.undo()
    found = compare.view(chosen, form())
    assert [x.name for x, _ in found["picture"]["rows"]] == ["1"]


def test_going_back_takes_the_comparison_that_was_made(chosen, monkeypatch):
    settled(chosen)
    chosen.change("k", safe={"k": 5})
    settled(chosen)
    monkeypatch.setattr(
        riskcore.Protected, "compare", lambda *_, **__: pytest.fail("made again")
    )
    chosen.history.undo()
    assert settled(chosen).state == "done"


# --- one's own tables ---


def test_a_table_of_two_columns(chosen, survey):
    asked = form(first=at(chosen, "SEX"), second=at(chosen, "MARSTAT"))
    assert compare.table(chosen, asked) == "Added."
    (study,) = seen(chosen)["studies"]
    assert study["name"] == "SEX x MARSTAT"
    (crossed,) = study["crossed"]
    before, after = crossed["sides"]
    import pandas as pd

    data = pd.read_csv(survey)
    sums = data.groupby(["SEX", "MARSTAT"])["WEIGHT"].sum()
    found = {
        (str(a), str(b)): before["body"][i][j]
        for i, a in enumerate(crossed["rows"])
        for j, b in enumerate(crossed["columns"])
    }
    for (a, b), weight in sums.items():
        assert found[str(a), str(b)] == round(weight)
    assert before["total"][-1] == round(data["WEIGHT"].sum())
    assert after["total"][-1] < before["total"][-1]
    assert crossed["weighted"]
    assert chosen.history.chosen["compare"]["tables"] == [["SEX", "MARSTAT"]]


def test_counts_without_weights_are_records(bench, survey):
    bench.set_roles(ROLES | {"WEIGHT": "sensitive"}, "roles")
    compare.table(bench, form(first=at(bench, "SEX"), second=at(bench, "HHSIZE")))
    (crossed,) = seen(bench)["studies"][0]["crossed"]
    assert not crossed["weighted"]
    result = riskcore.protect(survey, KEYS, k=3).compare(tables=["SEX x HHSIZE"])
    (table,) = result.tables
    assert crossed["sides"][0]["total"][-1] == table.records_before
    assert crossed["sides"][1]["total"][-1] == table.records_after
    assert len(crossed["outside"]) == len(table.outside)


def test_large_tables_show_only_what_changed_most(chosen, monkeypatch):
    monkeypatch.setattr(compare, "MOST_CELLS", 7)
    compare.table(chosen, form(first=at(chosen, "SEX"), second=at(chosen, "MARSTAT")))
    (study,) = seen(chosen)["studies"]
    assert study["crossed"] == [None]
    assert len(study["part"]["rows"]) > 1


def test_the_same_column_twice_is_refused(chosen):
    sex = at(chosen, "SEX")
    with pytest.raises(ValueError, match="different columns"):
        compare.table(chosen, form(first=sex, second=sex))
    with pytest.raises(RefusedError, match="no such column"):
        compare.table(chosen, form(first=sex, second="99"))
    assert comparisons.choices(chosen)["tables"] == []


# --- one's own regressions ---


def test_a_regression(chosen, survey):
    compare.model(chosen, form(formula="SEX ~  number(AGE) + MARSTAT"))
    found = seen(chosen)
    (study,) = found["studies"]
    result = riskcore.protect(survey, KEYS, "WEIGHT", k=3)
    expected = result.compare(models=["SEX ~ number(AGE) + MARSTAT"]).models[0]
    verdict = expected.verdict
    assert study["verdict"]["text"] == verdict[0].upper() + verdict[1:]
    assert len(study["part"]["rows"]) == len(expected.coefficients) + 1
    compare.model(chosen, form(formula="SEX ~ number(AGE) + MARSTAT"))
    assert len(comparisons.choices(chosen)["models"]) == 1


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("", "cannot read"),
        ("SEX", "need one ~"),
        ("SEX ~ WRONG", "the file has no column 'WRONG'"),
        ("SEX ~ SEX", "two roles"),
        ("x" * 5000, "need one ~"),
        ("SEX ~ <b>", "no column '<b>'"),
    ],
)
def test_formulas_that_are_refused(chosen, formula, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        compare.model(chosen, form(formula=formula))
    assert comparisons.choices(chosen)["models"] == []


def test_one_analysis_that_fails_does_not_hide_the_others(chosen):
    compare.model(chosen, form(formula="MARSTAT ~ SEX"))
    compare.model(chosen, form(formula="SEX ~ AGE"))
    found = seen(chosen)
    failed, fitted = found["studies"]
    assert "a response needs two" in failed["error"]
    assert fitted["verdict"]
    assert found["missing"]
    assert chosen.history.figures


def test_an_added_analysis_does_not_compare_again(chosen, monkeypatch):
    settled(chosen)
    monkeypatch.setattr(
        riskcore.Protected, "compare", lambda *_, **__: pytest.fail("made again")
    )
    compare.model(chosen, form(formula="SEX ~ MARSTAT"))
    assert seen(chosen)["studies"][0]["verdict"]


# --- columns of numbers ---


def test_a_column_of_numbers(chosen):
    compare.number(chosen, form(column=at(chosen, "INCOME")))
    found = seen(chosen)
    assert found["view"]["numbers"][1][0] == "INCOME"


@pytest.mark.parametrize("name", ["SEX", "WEIGHT"])
def test_keys_and_the_weight_are_not_columns_of_numbers(chosen, name):
    with pytest.raises(RefusedError, match="key variable or the weight"):
        compare.number(chosen, form(column=at(chosen, name)))


def test_a_column_that_became_a_key_is_left_out(chosen):
    compare.number(chosen, form(column=at(chosen, "HHSIZE")))
    compare.number(chosen, form(column=at(chosen, "INCOME")))
    chosen.set_roles({"HHSIZE": "key"}, "roles")
    found = seen(chosen)
    assert found["work"] == "done"
    assert [row[0] for row in found["view"]["numbers"] if row[0]] == ["INCOME"]
    assert comparisons.choices(chosen)["numbers"] == ["HHSIZE", "INCOME"]


# --- what was asked for ---


def test_analyses_can_be_removed(chosen):
    compare.model(chosen, form(formula="SEX ~ MARSTAT"))
    compare.model(chosen, form(formula="SEX ~ EDUCATION"))
    assert compare.remove(chosen, form(kind="models", position="0")) == "Removed."
    assert comparisons.choices(chosen)["models"] == ["SEX ~ EDUCATION"]
    for kind, position in (("models", "1"), ("wrong", "0"), ("tables", "0")):
        with pytest.raises(RefusedError, match="removed already"):
            compare.remove(chosen, form(kind=kind, position=position))


def test_analyses_are_kept_by_the_session_and_not_by_the_rules(chosen, opened):
    compare.model(chosen, form(formula="SEX ~ MARSTAT"))
    compare.table(chosen, form(first=at(chosen, "SEX"), second=at(chosen, "AGE")))
    before = comparisons.choices(chosen)
    assert "MARSTAT ~" not in chosen.release.to_toml()
    assert len(chosen.history.versions) == 2
    chosen.close()
    again = opened()
    assert comparisons.choices(again) == before


@pytest.mark.parametrize("kept", [None, [], 3, {"tables": 3}, {"models": None}])
def test_damaged_choices_are_none(chosen, kept):
    chosen.history.choose("compare", kept)
    assert comparisons.choices(chosen) == {"tables": [], "models": [], "numbers": []}


@pytest.mark.parametrize(
    "kept",
    [{"tables": [3, ["SEX"], ["SEX", 4]]}, {"models": [3]}, {"numbers": [3, ["a"]]}],
)
def test_damaged_choices_do_not_stop_the_page(chosen, kept):
    chosen.history.choose("compare", kept)
    assert seen(chosen)["work"] == "done"


# --- work that was canceled or failed ---


def test_canceled_work_can_begin_again(chosen):
    chosen.jobs.start("hold", "a", lambda say: None)
    job = chosen.comparison()
    chosen.jobs.cancel()
    assert job.ended.wait(PATIENCE)
    if compare.view(chosen, form())["work"] in ("canceled", "failed"):
        chosen.jobs.retry()
    assert seen(chosen)["work"] == "done"


def test_failed_work_says_why(chosen):
    def fail(say):
        raise ValueError("the disk is full")

    settled(chosen)
    chosen.change("k", safe={"k": 5})
    job = chosen.jobs.start("plan", chosen.key_of(*OF_WRITING), fail)
    assert job.ended.wait(PATIENCE)
    found = seen(chosen)
    assert (found["work"], found["why"]) == ("failed", "the disk is full")
    chosen.jobs.retry()
    assert seen(chosen)["work"] == "done"


# --- the picture ---


def test_the_picture_has_all_versions_with_figures(chosen):
    for k in (5, 8):
        settled(chosen)
        chosen.change("k", safe={"k": k})
    settled(chosen)
    chosen.history.name(2, "five")
    chosen.history.show(2)
    found = compare.picture(chosen)
    assert [trial.name for trial, _ in found["rows"]] == ["3", "2", "1"]
    text = Client(chosen).get("/compare").text
    (row,) = re.findall(r'<tr class="shown" aria-current="true">(.*)', text)
    assert "<bdi>five</bdi> <b>" in row
    links = re.findall(r'<a href="/history\?version=(\d)">', found["drawing"])
    assert sorted(links) == ["1", "2", "3"]
    (ring,) = re.findall(r'<circle class="([^"]*shown[^"]*)"', found["drawing"])
    assert "unsafe" not in ring
    assert 'role="group"' in found["drawing"]
    assert "style=" not in found["drawing"]


def test_versions_that_are_not_safe_are_hollow(chosen):
    figures = dict.fromkeys(comparisons.FIGURES, 0.5) | {"values_suppressed": 3}
    chosen.history.keep_figures(0, figures | {"safe": False})
    chosen.history.keep_figures(1, figures | {"safe": True})
    drawing = compare.picture(chosen)["drawing"]
    assert len(re.findall(r'class="[a-z ]*unsafe"', drawing)) == 1


def test_figures_that_are_not_numbers_are_unknown(chosen):
    chosen.history.keep_figures(0, {"safe": True, "share_lost": "<b>", "pmse": [1]})
    chosen.history.keep_figures(1, {"safe": 1, "share_lost": float("nan")})
    found = compare.picture(chosen)
    assert found["drawing"] == ""
    assert all(x.share_lost is None for x, _ in found["rows"])
    assert [x.safe for x, _ in found["rows"]] == [False, True]


def test_the_picture_has_the_newest_of_many_versions(chosen):
    for i in range(2, 300):
        chosen.history.add(f"# {i}", "")
        chosen.history.keep_figures(i, {"safe": True, "share_lost": i / 1000})
    chosen.history.show(4)
    found = compare.picture(chosen)
    numbers = [int(x.name) for x, _ in found["rows"]]
    assert len(numbers) == comparisons.MOST_DRAWN
    assert numbers[0] == 299
    assert numbers[-1] == 4
    assert found["more"]


# --- numbers as the reader writes them ---


def test_figures_are_written_as_the_reader_writes(chosen, read_in):
    view = seen(chosen)["view"]
    read_in("de", None, "")
    for row in view["distances"][1:]:
        assert told(row[0]) == row[0]
        for figure in row[1:]:
            assert told(figure) == figure.translate(str.maketrans(",.", ".,"))
    assert told(seen(chosen)["percent"](0.125)) == "12,5 %"
    assert 0.0 < float(view["mean"]) < 1.0
    assert told(view["mean"]) == view["mean"].replace(".", ",")
    drawing = compare.picture(chosen)["drawing"]
    assert not re.search(r">[0-9]+\.[0-9]+( %)?<", drawing)
    assert "Informationsverlust" in drawing
