"""Results show themselves: in notebooks, by their summary, by their report."""

import html
import re
import stat
import warnings

import numpy as np
import pytest

from riskcore import (
    assess,
    check,
    diversity,
    estimate_simulated,
    estimate_uniques,
    protect,
    simulate,
    suda,
)
from riskcore.cli import main
from riskcore.common.html import all_digits, readable
from riskcore.models import Ewens, LatentClass, Pitman, SizeIndices
from riskcore.report.office_charts import risk_curve, shared_edges
from tests.report.reading import Reader, shuffled_microdata, write_csv

KEYS = ["SEX", "AGE", "MARSTAT"]


@pytest.fixture(scope="module")
def data():
    return shuffled_microdata(1500, *KEYS, "WEIGHT")


@pytest.fixture(scope="module")
def results(data):
    assessment = assess(data, KEYS, "WEIGHT")
    sizes = SizeIndices.from_frequencies(assessment.cells.records)
    uniques = estimate_uniques(data, KEYS, "WEIGHT")
    return {
        "assessment": assessment,
        "protected": protect(data, KEYS, "WEIGHT", threshold=0.02),
        "uniques": uniques,
        "sizes": sizes,
        "model": Pitman.fit(sizes),
        "cell model": LatentClass.fit(assessment.cells),
        "no estimate": Ewens.none("ml", "all records are <unique>"),
        "check": check(data, KEYS, "WEIGHT", k=3, max_risk=0.1),
        "diversity": diversity(data, KEYS[:2], "MARSTAT"),
        "suda": suda(data, KEYS, fraction=0.1),
    }


def shown_in_a_notebook(value):
    """Return what a notebook shows: the richest form that the value has of itself."""
    for name, kind in (("_repr_html_", "html"), ("_repr_png_", "png")):
        method = getattr(value, name, None)
        if callable(method) and (found := method()) is not None:
            return kind, found
    return "text", repr(value)


ON_SHEETS = ["check", "diversity", "suda"]
WITHOUT_PICTURE = {"model", "cell model", "no estimate", *ON_SHEETS}


def test_every_result_shows_a_table_and_a_picture(results):
    for name, result in results.items():
        kind, text = shown_in_a_notebook(result)
        assert kind == "html", name
        Reader(text)
        assert "<table>" in text
        assert ("<svg" in text) == (name not in WITHOUT_PICTURE), name
        paths = re.findall('<path [^>]*d="([^"]*)"', text)
        filled = [x for x in paths if "V" in x and "H" in x]
        assert text.count('<path fill="none"') == len(filled)
        assert "nan" not in re.sub("<[^>]*>", " ", text).split(), name


def test_no_result_prints_a_long_text(results):
    for result in results.values():
        assert len(repr(result)) < 250
        assert repr(result).startswith("<")


def test_a_protection_shows_its_stages_on_one_scale(results):
    text = results["protected"]._repr_html_()
    drawings = re.findall("<svg.*?</svg>", text)
    assert len(drawings) == 2
    heights = [
        max(float(y) for y in re.findall(r'<rect[^>]*height="([\d.]+)"', one))
        for one in drawings
    ]
    counts = [
        max(risk_curve(one.distribution, edges=_edges(results)).counts)
        for one in results["protected"].sets[0].stages.values()
    ]
    assert heights[0] / heights[1] == pytest.approx(counts[0] / counts[1], rel=1e-3)
    head = re.search("<thead>.*?</thead>", text)[0]
    assert re.findall(">([a-z]+)</th>", head) == ["original", "protected"]


def _edges(results):
    stages = results["protected"].sets[0].stages.values()
    return shared_edges([one.distribution for one in stages])


def test_a_model_without_an_estimate_says_why():
    text = Ewens.none("ml", "all records are <unique>")._repr_html_()
    assert "no estimate by ml, all records are &lt;unique&gt;" in text


def test_sizes_that_are_not_drawn_are_counted():
    text = SizeIndices({1: 4, 2: 3, 90: 2})._repr_html_()
    assert "not shown: 2 larger cells" in text
    assert text.count("<rect") == 2


# Summaries and reports are those of the command


@pytest.fixture
def file(data, tmp_path):
    path = tmp_path / "survey.csv"
    write_csv(path, data)
    return path


def body(text):
    """Return a text without its title and the names of files."""
    lines = text.splitlines()[1:]
    return [x for x in lines if not re.match(r"  (file |The |Nothing is written)", x)]


def test_the_summary_is_what_the_command_prints(file, capsys):
    words = [str(file), "--keys", *KEYS, "--weight", "WEIGHT", "--quiet"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        safe = protect(str(file), KEYS, "WEIGHT", threshold=0.02)
    found = assess(str(file), KEYS, "WEIGHT")
    uniques = estimate_uniques(str(file), KEYS, "WEIGHT")
    for command, more, result, options in (
        ("assess", ["--rate", "0.1%"], found, {"rate": 0.001}),
        ("protect", ["--threshold", "0.02"], safe, {}),
        ("uniques", [], uniques, {}),
    ):
        main([command, *words, *more])
        summary = result.summary(**options)
        assert body(summary) == body(capsys.readouterr().out.rstrip("\n"))
        assert repr(summary) == str(summary)
        assert isinstance(summary, str)


def test_the_report_is_that_of_the_command(file, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    words = [str(file), "--keys", *KEYS, "--weight", "WEIGHT", "--quiet"]
    title = f"{file.name}: re-identification risk"
    theirs, ours = tmp_path / "theirs.html", tmp_path / "ours.html"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        safe = protect(str(file), KEYS, "WEIGHT", threshold=0.02)
        main(["protect", *words, "--threshold", "0.02", "--report", str(theirs)])
    safe.report(ours, title=f"{title} and protection")
    text = theirs.read_text("utf-8")
    command = re.search("<h3>To make this report again</h3>.*?</div>\n", text, re.S)[0]
    assert ours.read_text("utf-8") == text.replace(command, "")
    assert stat.S_IMODE(ours.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        safe.report(ours)
    with pytest.raises(ValueError, match=r"survey\.csv"):
        safe.report(file, overwrite=True)
    main(["assess", *words, "--threshold", "0.02", "--report", str(theirs),
          "--overwrite", "--report-top", "3"])  # fmt: skip
    assess(str(file), KEYS, "WEIGHT").report(
        ours, title=title, threshold=0.02, top=3, overwrite=True
    )
    text = theirs.read_text("utf-8")
    figures = re.search("<table><caption>Figures of the file.*?</table>", text, re.S)[0]
    assert figures in ours.read_text("utf-8")
    riskiest = re.search("<table><caption>Cells of largest.*?</table>", text, re.S)[0]
    assert riskiest in ours.read_text("utf-8")
    assert stat.S_IMODE(ours.stat().st_mode) == 0o600


def test_each_set_of_keys_has_a_report(data, tmp_path):
    result = protect(data, [KEYS, ["SEX"]], "WEIGHT", threshold=0.02)
    result.report(tmp_path / "r.html")
    assert sorted(x.name for x in tmp_path.iterdir()) == ["r-2.html", "r.html"]
    (tmp_path / "r.html").unlink()
    with pytest.raises(FileExistsError, match="r-2"):
        result.report(tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("name", ["uniques", *ON_SHEETS])
def test_the_report_is_a_private_page(results, tmp_path, monkeypatch, name):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    path = tmp_path / "r.html"
    results[name].report(path, title="<T>")
    text = path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for part in ("<h1>&lt;T&gt;</h1>", "For internal use", "2001-09-09"):
        assert part in text
    Reader(text)
    assert not re.search(' (style|src|href|on[a-z]+)="', text)
    with pytest.raises(FileExistsError):
        results[name].report(path)
    results[name].report(path, title="<T>", overwrite=True)
    assert path.read_text("utf-8") == text


def test_the_page_of_uniques_has_all_estimates(tmp_path):
    random = np.random.default_rng(2004)
    population = simulate.zipf_population(20_000, 2_000, 0.9, random)
    found = estimate_simulated(population, simulate.sample(population, 6_000, random))
    found.report(tmp_path / "u.html")
    text = (tmp_path / "u.html").read_text("utf-8")
    assert f"By the simulation it is {found.truth}." in text
    assert f'<p class="verdict">Smallest AIC: {found.best}; {found.advice}.</p>' in text
    for one in found.estimates:
        exact = f'<span title="{all_digits(one.tau)}">{readable(one.tau)}</span>'
        assert f'{one.model}</th><td class="number">{exact}</td>' in text
    assert f'<td class="number">{found.sizes[1]:,}</td>' in text


@pytest.mark.parametrize("name", ON_SHEETS)
def test_figures_of_the_terminal_are_on_the_page_and_in_notebooks(
    results, tmp_path, name
):
    results[name].report(tmp_path / "r.html")
    sheet = results[name]._sheet()
    cells = [x for row in sheet.facts for x in row]
    for part in sheet.parts:
        cells += [x for row in [*part.facts, *part.rows] for x in row]
    assert len(cells) > 10
    text = (tmp_path / "r.html").read_text("utf-8")
    # A rounded number has its digits as title.
    shown = re.sub(r'<span title="([^"]*)">[^<]*</span>', r"\1", text)
    shown = re.sub("<[^>]*>", "\n", shown)
    notebook = re.sub("<[^>]*>", "\n", results[name]._repr_html_())
    for cell in cells:
        assert html.escape(cell, quote=False) in shown.replace("&#39;", "'")
        assert html.escape(cell) in notebook


def test_a_check_says_its_verdict_on_the_page(data, tmp_path):
    for bound, passed in ((1.0, True), (0.0, False)):
        found = check(data, KEYS, "WEIGHT", max_risk=bound)
        assert found.passed == passed
        found.report(tmp_path / "c.html", overwrite=True)
        text = (tmp_path / "c.html").read_text("utf-8")
        assert f'<p class="verdict">{found.verdict}</p>' in text
        assert found.verdict in found._repr_html_()
