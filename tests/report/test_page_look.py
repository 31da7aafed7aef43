"""What the office's page shows at a glance: stages together, rounded, on honest scales.

All digits, the settings and the command to repeat it are there for who asks.
"""

import html
import re
import shlex
from datetime import UTC, datetime

import numpy as np
import pytest

from riskcore import Recoding, assess, protect
from riskcore.cli import main
from riskcore.common.html import all_digits, digits, readable
from riskcore.data.files.labels import Labels
from riskcore.protection.release.record import coarse
from riskcore.report.page import key_variables, page, protection_page
from riskcore.report.page_charts import bar_top
from riskcore.report.provenance import Provenance, now
from riskcore.report.public_page import public_protection_page
from riskcore.report.templating import element, three_digits
from tests.report.reading import shuffled_microdata, table_of

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]


@pytest.fixture(scope="module")
def protected():
    return protect(
        shuffled_microdata(3000, *KEYS, "WEIGHT"), KEYS, "WEIGHT",
        threshold=0.01, cost="entropy",
        recodings={
            "AGE": Recoding.intervals([30, 60]),
            "REGION": Recoding.intervals([400, 800]),
        },
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(protected):
    return protection_page(protected, title="T")


def visible(text):
    """Return the text that a browser shows, without details inside a section."""
    inner = r"<(script|style|details(?! class=\"part\"))\b.*?</\1>"
    text = re.sub(inner, " ", text, flags=re.S)
    return html.unescape(re.sub("<[^>]*>", " ", text))


# Numbers


@pytest.mark.parametrize(
    ("x", "shift", "shown", "exact"),
    [
        (0.0453318775, 2, "4.53", "4.53318775"), (906.637, 0, "907", "906.637"),
        (999.5, 0, "1,000", "999.5"), (2000000.5, 0, "2,000,001", "2,000,000.5"),
        (0.0, 0, "0", "0"), (float("inf"), 0, "∞", "∞"), (1e-9, 0, "1e-9", "1e-9"),
        (1e300, 0, "1e300", "1e300"), (1e15, 2, "1" + 17 * "0", None),
    ],
)  # fmt: skip
def test_numbers_are_rounded_to_what_one_reads(x, shift, shown, exact):
    assert readable(x, shift) == shown
    assert exact is None or all_digits(x, shift) == exact


def test_no_long_number_is_in_sight(made):
    # Thresholds are to be copied, and have six.
    text = re.sub('<text class="mark".*?</text>', "", made)
    numbers = re.findall(r"\d+\.\d+", visible(text))
    assert len(numbers) > 100
    assert {x for x in numbers if len(x.replace(".", "").strip("0")) > 3} == set()


def test_all_digits_are_there_for_who_asks(made, protected):
    rate = protected.original.reidentification_rate
    title = f'<span title="{digits(rate, 2)} %">{readable(rate, 2)} %</span>'
    assert title in made


# The chart


def test_all_stages_are_in_the_chart(made, protected):
    charts = re.findall(r'<figure id="view-(\d)-0">(.*?)</figure>', made, re.S)
    assert [stage for stage, _ in charts] == ["0", "1"]
    for stage, chart in charts:
        drawn = re.findall(r'<path class="other stage-(\d)" d="([^"]*)"', chart)
        assert [other for other, _ in drawn] == sorted({"0", "1"} - {stage})
        for name in ("original", "protected"):
            assert f"“<bdi>{name}</bdi>”" in chart
    # A bar of one chart is as high as the outline of it in another.
    heights = {}
    for stage, chart in charts:
        bars = re.search(r'<g class="bars">.*?</g>', chart)[0]
        tops = {float(y) for y in re.findall(r' y="([\d.]+)"', bars)}
        heights[stage] = {y for y in tops if y < 235}
    for stage, chart in charts:
        for other, path in re.findall(r'class="other stage-(\d)" d="([^"]*)"', chart):
            outline = {float(y) for y in re.findall(r"V([\d.]+)", path)}
            assert heights[other] <= outline, (stage, other)


def test_each_class_says_what_it_holds_where_the_pointer_rests(made, protected):
    chart = re.search(r'<figure id="view-1-0">(.*?)</figure>', made, re.S)[1]
    told = [html.unescape(x) for x in re.findall("<title>(.*?)</title>", chart)]
    rows = table_of(made, "Records by individual risk, file “protected")[1:]
    assert len(told) == len(rows)
    for text, (bounds, count, above, share, _) in zip(told, rows, strict=True):
        assert text.startswith(f"{bounds}: {count} record")
        low = bounds.split()[0]
        assert text.endswith(
            f"at or above {low}: {above} record{'s' * (above != '1')}, {share}"
        )
    assert sum(int(re.search(r"original: ([\d,]+)", x)[1].replace(",", ""))
               for x in told) == protected.n  # fmt: skip


def test_hover_values_of_the_public_page_are_those_of_its_table(protected):
    text = public_protection_page(protected)
    told = re.findall("<rect[^>]*><title>(.*?)</title>", text)
    rows = table_of(text, "Records by class of risk")[1:]
    assert told == [
        f"{bounds}: {count} record{'s' * (count != '1')}" for bounds, count, _ in rows
    ]


# Tables


def test_blanked_values_of_households_are_shares_of_the_records():
    data = {"region": [1, 1, 2, 3, 3, 3], "hh": [1, 1, 2, 3, 3, 3]}
    result = protect(
        data, ["region"], household="hh", level="household", k=2, population="weights"
    )
    assert result.suppressed["region"] == 6
    rows = table_of(protection_page(result, title="T"), "Values suppressed")
    assert ["region", "6", "100 %"] in [row[:3] for row in rows]


def test_bars_have_one_scale_of_all_records(made, protected):
    widths = re.findall(r'<rect width="([\d.]+)%" height="100%"/></svg>', made)
    shares = [100 * k / protected.n for k in protected.suppressed.values()]
    drawn = [share for share in shares if share]
    top = 100 * bar_top(share / 100 for share in shares)
    assert widths == [f"{max(100 * share / top, 1):.3f}" for share in drawn]
    assert f"0 to {top:g} % of the records" in made
    assert made.count('<rect class="whole" width="100%"') == len(shares)
    text = public_protection_page(protected)
    widths = re.findall(r'<rect width="([\d.]+)%" height="100%"/></svg>', text)
    drawn = [100 * coarse(k) / protected.n for k in protected.suppressed.values()]
    drawn = [share for share in drawn if share]
    assert len(widths) == len(drawn)
    top = float(re.search(r"0 to ([\d.]+) % of the records", text)[1])
    assert widths == [f"{max(100 * share / top, 1):.3f}" for share in drawn]


def test_the_figures_of_the_riskiest_stand_before_their_keys():
    names = [f"key{k}" for k in range(9)]
    random = np.random.default_rng(3)
    data = {name: random.integers(0, 3, 200) for name in names}
    result = assess({**data, "w": random.uniform(2, 90, 200)}, names, "w")
    text = page({"original": result}, title="T", riskiest=result.riskiest(3))
    head, *rows = table_of(text, "Cells of largest individual risk")
    assert head == ["Risk", "Records f", "Population F", "p = f/F", *names]
    for row, cell in zip(rows, result.riskiest(3), strict=True):
        assert row[0] == readable(cell["individual_risk"])
        assert row[4:] == [str(cell[name]) for name in names]
        assert f'title="{all_digits(cell["individual_risk"])}"' in text
    assert '<div class="scroll first"' in text
    assert "position: sticky; left: 0" in element("style.css")


def test_key_variables_before_and_after(made, protected):
    rows = table_of(made, "At the stages")[1:]
    assert [row[0] for row in rows] == KEYS
    age = np.asarray(protected.before.column("AGE"))
    smallest = np.unique(age, return_counts=True)[1].min()
    _, categories, least, missing = rows[2]
    after = np.unique(np.digitize(age, [31, 61]), return_counts=True)[1]
    assert categories == f"{len(np.unique(age))} → 3"
    assert least.split(" → ")[0] == str(smallest)
    assert int(least.split(" → ")[1].replace(",", "")) <= after.min()
    blanked = protected.suppressed["AGE"]
    assert missing == (f"0 → {blanked}" if blanked else "0")


def test_small_cells_before_and_after(made, protected):
    head, *rows = table_of(made, "Records and cells with")
    assert head == ["k", "Records", "Cells"]
    stages = [protected.original, protected.sets[0].protected]
    for row, k in zip(rows, (2, 3, 5), strict=True):
        found = [one.below(k) for one in stages]
        assert len({one.records for one in found}) > 1
        assert row == [
            str(k),
            " → ".join(f"{one.records:,}" for one in found),
            " → ".join(f"{one.cells:,}" for one in found),
        ]
    alone = page({"f": assess({"k": list("aab")}, ["k"])}, title="T")
    assert table_of(alone, "Records and cells with")[1] == ["2", "1", "1"]


def test_key_variables_count_no_missing_category():
    data = {"k": ["a", None, "b", "a", None], "x": [None] * 5}
    result = assess(data, ["k", "x"], missing="category")
    assert key_variables({"f": result}) == [
        ("k", ["2", "1", "2"]), ("x", ["0", "0", "5"]),
    ]  # fmt: skip


def test_key_variables_of_an_engine_are_not_collected():
    import polars as pl

    result = assess(pl.LazyFrame({"k": [1, 1, 2]}), ["k"])
    assert key_variables({"f": result}) is None
    assert "Key variables" not in page({"f": result}, title="T")
    assert not result.cells.collected


# Provenance


def test_the_page_says_where_it_comes_from():
    result = assess({"k": list("aab")}, ["k"])
    when = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    command = "riskcore assess 'my <b>.csv' --keys k"
    text = page(
        {"f": result}, title="T", facts=[("weight", "none")],
        provenance=Provenance("my <b>.csv", when, command),
    )  # fmt: skip
    rows = table_of(text, "How the figures were made")
    assert ["file", "my <b>.csv"] in rows
    assert ["made", "2026-01-02 03:04 UTC"] in rows
    assert rows[3][0] == "made by"
    assert rows[4] == ["weight", "none"]
    shown = re.search('<code id="command">(.*?)</code>', text)[1]
    assert html.unescape(shown) == command
    assert '<button type="button" id="copy" hidden>' in text
    # Without a time the page is a function of what is in it.
    assert "UTC" not in page({"f": result}, title="T")


def test_a_command_that_cannot_be_shown_is_left_out():
    result = assess({"k": list("aab")}, ["k"])
    odd = Provenance("f.csv", None, shlex.join(["riskcore", "assess", "a\nb.csv"]))
    assert 'id="command"' not in page({"f": result}, title="T", provenance=odd)


def test_reports_of_the_command_can_be_made_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    file, report = tmp_path / "s.csv", tmp_path / "r.html"
    file.write_text("sex,age,w\n" + "f,1,30\nm,2,30\nf,1,40\n" * 9)
    words = ["assess", str(file), "--keys", "sex", "age", "--weight", "w", "--quiet"]
    assert main([*words, "--report", str(report)]) == 0
    text = report.read_text("utf-8")
    assert ["made", "2001-09-09 01:46 UTC"] in table_of(text, "How the figures")
    shown = re.search('<code id="command">(.*?)</code>', text)[1]
    program, *again = shlex.split(html.unescape(shown))
    assert program == "riskcore"
    report.unlink()
    assert main(again) == 0
    assert report.read_text("utf-8") == text
    safe = [tmp_path / "safe.csv", tmp_path / "p.html", tmp_path / "public.html"]
    capsys.readouterr()
    status = main([
        "protect", *words[1:], "--threshold", "0.5", "--shuffle",
        "--output", str(safe[0]), "--report", str(safe[1]), "--report-public",
        str(safe[2]),
    ])  # fmt: skip
    assert status == 0
    text = safe[1].read_text("utf-8")
    assert "--shuffle --output" in html.unescape(text)
    assert "20040229" not in text
    public = safe[2].read_text("utf-8")
    for told in ("s.csv", str(tmp_path), "UTC", "2001", "--keys", "Copy"):
        assert told not in re.sub(r"<script>.*?</script>", "", public, flags=re.S)


def test_a_time_that_is_none_is_refused(monkeypatch):
    for wrong in ("noon", "", "1e3", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH"):
            now()


# On paper


def test_tables_are_not_cut_on_paper():
    style = element("style.css").partition("@media print")[2]
    avoided = re.search(r"([^{}]*)\{ break-inside: avoid; \}", style)[1]
    assert {"table", "tr", "figure"} <= set(re.split(r"[,\s]+", avoided))
    assert "thead { display: table-header-group; }" in style
    assert ".scroll, details details .scroll { overflow: visible; max-height" in style


def test_paper_has_what_was_asked_for_and_no_more(made):
    assert ".screen { display: none; }" in element("style.css")
    sections = re.findall(
        r'<section aria-labelledby="(\w+)-title"( class=screen)?>', made
    )
    left_out = {name for name, screen in sections if screen}
    assert left_out == {"anonymity", "keys", "classes", "definitions"}
    assert {"chart", "comparison", "suppression", "settings"} < {x for x, _ in sections}


# On narrow pages


def rules_of(style, selector):
    """Return the declarations of all rules for exactly one selector."""
    return ";".join(
        body
        for names, body in re.findall(r"([^{}]+)\{([^{}]*)\}", style)
        if selector in re.split(r"\s*,\s*", re.sub(r"/\*.*?\*/", "", names).strip())
    )


def test_what_is_wide_wraps_or_scrolls_inside(made, protected):
    style = element("style.css").partition("@media print")[0]
    assert "overflow-x: auto" in rules_of(style, ".scroll")
    # A shadow says where the table goes on, also where no bar of scrolling is shown.
    assert rules_of(style, ".scroll").count("local") == 2
    for name in ("h1", ".command pre", "code"):
        assert "overflow-wrap: anywhere" in rules_of(style, name)
    for name in (".plot", ".shares", "td.bar svg"):
        assert "width: " in rules_of(style, name)
    # Nothing is hidden because the page is narrow, but every other mark of an axis.
    narrow = style.partition("@media (max-width: 36rem)")[2]
    assert re.findall(r"([^{}\n]*)\{[^{}]*display: none", narrow) == ["  .plot .spare "]
    assert not re.search(r"overflow(-[xy])?: hidden", style)
    assert "text-overflow" not in style
    # Every table is in a box that scrolls, and can be reached by the keyboard.
    pages = made, public_protection_page(protected)
    for text in pages:
        tables = re.findall(
            r"<div class=\"scroll[^>]*tabindex=\"0\"[^>]*><table>", text
        )
        assert len(tables) == text.count("<table>") >= 4


def test_labels_of_variables_stand_beside_their_names():
    result = assess({"SEX": list("ffm"), "AGE": [1, 2, 2]}, ["SEX", "AGE"])
    labels = Labels({"SEX": "Sex of the person"})
    text = page({"original": result}, title="T", labels=labels,
                riskiest=result.riskiest(1))  # fmt: skip
    assert [row[0] for row in table_of(text, "Categories")[1:]] == [
        "SEX Sex of the person", "AGE",
    ]  # fmt: skip
    assert "SEX Sex of the person" in table_of(text, "Cells of largest")[0]
    leak = {"column": "AGE", "text": "all ages", "advice": "a", "accepted": None}
    labels = Labels({"AGE": "Age in years"})
    text = page({"original": result}, title="T", labels=labels, leaks=[leak])
    assert table_of(text, "What the file gives away")[1] == [
        "all ages Age in years",
        "a",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.123456", "0.123"), ("1,234.5678", "1,235"), ("12.3456 %", "12.3 %"),
        ("-0.0123456", "-0.0123"), ("1.23456e-09", "1.23e-9"), ("0.5", "0.5"),
        ("3", "3"), ("132", "132"), ("a 0.123456", "a 0.123456"),
    ],
)  # fmt: skip
def test_numbers_in_tables_have_three_digits(text, shown):
    assert three_digits(text) == shown
