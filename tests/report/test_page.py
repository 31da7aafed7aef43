"""The report page: its numbers are those of Python, and labels do not run."""

import base64
import hashlib
import html
import itertools
import json
import math
import re
import stat
from decimal import Decimal

import numpy as np
import pytest

from riskcore import Reading, Recoding, assess, protect, simulate
from riskcore.assessment.cell_risk import PopulationBelowSample
from riskcore.common.html import digits, readable, short
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.protection.release.facts import verdict_facts
from riskcore.protection.result import SuppressedValueShows
from riskcore.report.office_charts import risk_curve
from riskcore.report.page import Tile, assessment_page, page, protection_page
from riskcore.report.public_page import public_protection_page
from riskcore.report.summary import summary
from tests import needs
from tests.report.reading import Reader, in_browser, rows_of, shuffled_microdata, survey

WATCH = """
window.faults = [];
addEventListener("error", (event) => faults.push(event.message));
addEventListener("securitypolicyviolation", (e) => faults.push(e.violatedDirective));
"""
# Does as a reader would, and notes what the page then shows.
ACT = """
(() => {
  const value = (id) => document.getElementById(id).value;
  // What a box stands for; where it is wrong, what is written in it.
  const exact = (id) => document.getElementById(id).ariaInvalid === "true"
    ? value(id) : document.getElementById(id).dataset.exact;
  const fire = (part, name) => part.dispatchEvent(new Event(name, { bubbles: true }));
  const shown = [];
  for (const [part, given] of ACTIONS) {
    if (part === "stage" || part === "level") {
      document.querySelector(`input[name=${part}][value="${given}"]`).click();
    } else if (part === "slide") {
      const slider = document.getElementById("slider");
      slider.value = Number(slider.value) + given;
      fire(slider, "input");
    } else if (part === "focus") {
      for (const name of ["blur", "focus"]) {
        for (const box of document.querySelectorAll(".boxes input")) {
          if ((box.id === given) === (name === "focus")) fire(box, name);
        }
      }
    } else if (part !== "look") {
      const box = document.getElementById(part);
      box.value = given;
      fire(box, "input");
      fire(box, "change");
    }
    const reading = [...document.querySelectorAll(".reading")].find((p) => !p.hidden);
    const figure = [...document.querySelectorAll("figure")].filter((f) => !f.hidden);
    shown.push({
      threshold: exact("threshold"), count: exact("count"), rate: exact("rate"),
      boxes: ["threshold", "count", "rate"].map(value),
      slider: value("slider"), error: document.getElementById("error").textContent,
      reading: reading.textContent.replaceAll("\\u00a0", " "),
      exact: [...reading.querySelectorAll("[title]")].map((b) => b.title),
      figures: figure.map((f) => f.id),
    });
  }
  const out = document.createElement("pre");
  out.id = "shown";
  out.textContent = JSON.stringify({ shown, faults });
  document.body.append(out);
})();
"""


def allowed(text, *scripts):
    """Let the page run further scripts than its own."""
    for script in scripts:
        digest = hashlib.sha256(script.encode()).digest()
        rule = f"script-src 'sha256-{base64.b64encode(digest).decode()}' "
        text = text.replace("script-src ", rule, 1)
    return text


@pytest.fixture
def browse(tmp_path):
    """Return what a page shows after each action, in a browser."""

    def run(text, actions):
        act = f"const ACTIONS = {json.dumps(actions)};{ACT}"
        text = allowed(text, WATCH, act)
        text = text.replace("<title>", f"<script>{WATCH}</script><title>", 1)
        text = text.replace("</body>", f"<script>{act}</script></body>", 1)
        shown, errors = in_browser(text, tmp_path)
        found = re.search(r'<pre id="shown">(.*?)</pre>', shown, re.S)
        assert found, errors[-2000:]
        result = json.loads(html.unescape(found[1]))
        assert result["faults"] == []
        return result["shown"]

    return run


@pytest.fixture(scope="module")
def stages():
    """Return a stage with more risks than a page holds, and one with fewer."""
    data = survey(6000, 500, 12, 1)
    coarse = {**data, "age": data["age"] // 25}
    many, few = (assess(one, ["age", "region"], "w", "hh") for one in (data, coarse))
    assert len(many.distribution.risk) > 2000 > len(few.distribution.risk)
    return {"original": many, "recoded": few}


@pytest.fixture(scope="module")
def small():
    return assess(survey(50, 8, 12, 1), ["age", "region"], "w", "hh")


# The numbers


class Chart:
    """What one chart of a page has to show, by looking through its thresholds."""

    def __init__(self, assessment, level, given):
        groups = assessment.households
        self.file = groups.distribution if level else assessment.distribution
        self.units = RiskDistribution(groups.risk) if level else self.file
        self.complete = len(self.file.risk) <= 2000
        include = [] if given is None else [given]
        self.thresholds = risk_curve(self.file, include=include).threshold.tolist()

    def known(self, t):
        ends = t <= self.thresholds[0] or t > self.thresholds[-1]
        if self.complete or ends:
            return t
        return max(one for one in self.thresholds if one <= t)

    def for_threshold(self, text):
        return self.known(float(text))

    def for_count(self, text):
        if self.complete:
            return self.units.threshold_for_unsafe(int(text))
        serving = (
            t for t in self.thresholds if self.units.unsafe_count(t) <= int(text)
        )
        return min(serving, default=math.inf)

    def for_rate(self, text):
        rate = float(Decimal(text).scaleb(-2))
        return self.known(self.file.threshold_for_rate(rate))

    def check(self, shown, t, typed=None):
        """Compare what is shown with what holds at threshold t."""
        assert as_number(shown["threshold"]) == t
        assert int(shown["count"]) == self.units.unsafe_count(t)
        if typed is None:
            capped = float(Decimal(shown["rate"]).scaleb(-2))
            assert capped == self.file.capped_rate(t)
        else:
            assert shown["rate"] == typed
        assert shown["error"] == ""
        unsafe = self.file.unsafe_count(t)
        said = shown["reading"].replace(",", "")
        assert f"threshold of {short(t)}" in said.replace("∞ ", "∞")
        assert f"{shown['count']} of {self.units.n}" in said
        if self.units is not self.file:
            assert f"with {unsafe} of {self.file.n} records" in said
        rates = [
            self.file.reidentification_rate,
            self.file.capped_rate(t),
            self.file.safe_rate(t),
        ]
        rates = [unsafe / self.file.n, *rates]
        said = re.findall(r"([\d.e+-]+) %", said)
        assert said == [readable(rate, 2) for rate in rates]
        assert shown["exact"] == [digits(rate, 2) for rate in rates]


def as_number(text):
    return math.inf if text == "∞" else float(text)


def typed_values(chart, rng):
    """Return what to write in each box: on, between and beyond the risks."""
    file = chart.file
    observed = rng.choice(file.risk, 12).tolist()
    between = np.exp(rng.uniform(*np.log(file.risk[[0, -1]]), 12)).tolist()
    ends = [0.0, file.risk[0] / 2, file.risk[0], file.max_risk, 1.0, math.inf]
    counts = [0, 1, 2, chart.units.n - 1, chart.units.n]
    counts += rng.integers(0, chart.units.n, 15).tolist()
    rates = [0.0, file.reidentification_rate, 1.0, 1e-9]
    rates += (file.reidentification_rate * rng.random(15)).tolist()
    rates += [file.capped_rate(t) for t in observed[:5]]
    return (
        [("threshold", repr(float(t))) for t in [*observed, *between, *ends]]
        + [("count", str(count)) for count in counts]
        + [("rate", f"{Decimal(repr(rate)).scaleb(2):f}") for rate in rates]
    )


@needs.chromium
def test_the_boxes_show_what_python_returns(stages, browse):
    rng = np.random.default_rng(11)
    given = {0: 0.0123456, 1: None}
    actions, expected = [], []
    for stage, level in itertools.product((0, 1), (0, 1)):
        chart = Chart(list(stages.values())[stage], level, given[level])
        actions += [("stage", stage), ("level", level)]
        expected += [None, None]
        for part, text in typed_values(chart, rng):
            actions.append((part, text))
            t = getattr(chart, f"for_{part}")(text)
            kept = part == "rate" and chart.complete and t < math.inf
            expected.append((chart, t, text if kept else None))
    text = page(stages, title="Test", threshold=given[0])
    for action, shown, want in zip(
        actions, browse(text, actions), expected, strict=True
    ):
        assert len(shown["figures"]) == 1
        if want:
            chart, t, typed = want
            if typed is not None:
                assert float(Decimal(shown["rate"])) == float(typed), action
                typed = shown["rate"]
            chart.check(shown, t, typed)


@needs.chromium
@pytest.mark.parametrize(("stage", "level"), [(0, 0), (1, 1)])
def test_the_slider_stops_where_the_numbers_are_exact(stages, browse, stage, level):
    chart = Chart(list(stages.values())[stage], level, None)
    middle = repr(chart.thresholds[len(chart.thresholds) // 2])
    steps = [1, 1, 1, -1, -500, 1, 37, -1, 10**4, 1, -1, -1, 1, 1, -(10**4), -1, 1]
    actions = [("stage", stage), ("level", level), ("threshold", middle)]
    actions += [("slide", step) for step in steps]
    results = browse(page(stages, title="Test"), actions)[2:]
    for shown in results:
        chart.check(shown, as_number(shown["threshold"]))
    # One step is a key: to the next threshold; beyond the last there is one more.
    stops = [*chart.thresholds, math.inf]
    found = [as_number(shown["threshold"]) for shown in results]
    for old, new, step in zip(found, found[1:], steps, strict=False):
        if step == 1:
            assert new == next((t for t in stops if t > old), math.inf)
        elif step == -1:
            assert new == max((t for t in stops if t < old), default=old)
        else:
            assert (new > old) == (step > 0)
    assert math.inf in found
    assert min(found) <= stops[0]


@needs.chromium
def test_the_slider_moves_freely_beyond_the_risks(stages, browse):
    chart = Chart(stages["recoded"], 0, None)
    shown = browse(page(stages, title="Test"), [("threshold", "0.02"), ("slide", 300)])
    t = float(shown[1]["threshold"])
    assert 0.02 < t < 0.05
    assert t == float(f"{t:.3g}")
    chart.check(shown[1], t)


@needs.chromium
def test_what_cannot_be_read_is_refused_and_changes_nothing(stages, browse):
    wrong = [
        *(("threshold", text) for text in ("", "-0.1", "0,01", "x", "1e")),
        *(("count", text) for text in ("1.5", "-1", "6001", "1,000", "")),
        *(("rate", text) for text in ("100.1", "-1", "0,5", "1 %", "")),
    ]
    first = ("threshold", "0.01")
    actions = [step for one in wrong for step in (first, one)]
    shown = browse(page(stages, title="Test"), actions)
    for (part, text), right, after in zip(wrong, shown[::2], shown[1::2], strict=True):
        assert after["error"] != ""
        assert after[part] == text
        assert right["error"] == ""
        others = {part: 0, "error": 0, "boxes": 0}
        assert {**after, **others} == {**right, **others}


@needs.chromium
def test_the_page_starts_with_the_numbers_written_in_it(stages, browse):
    text = page(stages, title="Test", threshold=0.02, household_threshold=0.3)
    actions = [("look", 0), ("stage", 0), ("level", 1), ("threshold", "0.2")]
    start, *later = browse(text, [*actions, ("level", 0)])
    chart = Chart(stages["recoded"], 0, 0.02)
    chart.check(start, 0.02)
    assert start["figures"] == ["view-1-0"]
    for kind in ("value", "data-exact"):
        written = re.findall(rf'<input id="\w+"[^>]* {kind}="([^"]*)"', text)
        exact = [start[name] for name in ("threshold", "count", "rate")]
        assert written == (start["boxes"] if kind == "value" else exact)
    sentence = re.search(r'<p class="reading" id="reading-0".*?</p>', text, re.S)[0]
    plain = html.unescape(re.sub("<[^>]*>", "", sentence)).replace("\xa0", " ")
    assert start["reading"] == plain
    # The threshold stays when the file is changed, and each level has its own.
    assert [float(one["threshold"]) for one in later] == [0.02, 0.3, 0.2, 0.02]
    assert later[1]["figures"] == ["view-0-1"]


PRINTED = """
dispatchEvent(new Event("beforeprint"));
const cut = [...document.querySelectorAll(".scroll")].filter(
  (part) => part.checkVisibility()
).filter((part) => part.scrollHeight > part.clientHeight + 1 || !part.clientHeight
);
const closed = [...document.querySelectorAll("details:not([open])")]
  .filter((part) => part.checkVisibility()).length;
dispatchEvent(new Event("afterprint"));
document.title = `${cut.length} cut, ${closed} closed, then ` +
  document.querySelectorAll("details:not([open])").length;
"""


@needs.chromium
@pytest.mark.parametrize(("tiles", "closed"), [((), 9), ((Tile("a", [], []),), 12)])
def test_on_paper_all_rows_of_what_is_printed_are_shown(
    stages, tmp_path, tiles, closed
):
    rules = Recoding.mapping({str(k): "x" for k in range(30)})
    facts = [("recoding of age", str(rules))]
    text = page(stages, title="Test", facts=facts, tiles=tiles)
    assert len(re.findall("<details[ >]", text)) == 12
    # A sheet of paper, in a browser that can be asked.
    text = text.replace("@media print", "@media all")
    text = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    text = text.replace("</body>", f"<script>{PRINTED}</script></body>")
    shown, _ = in_browser(text, tmp_path)
    title = re.search("<title>(.*?)</title>", shown)[1]
    assert title == f"0 cut, 0 closed, then {closed}"


@needs.chromium
def test_boxes_show_six_digits_and_all_where_one_writes(stages, browse):
    text = page(stages, title="Test", threshold=0.02)
    seen = browse(
        text, [("threshold", "0.012345678"), ("focus", "threshold"), ("focus", "count")]
    )
    exact = seen[0]["threshold"]
    assert len(exact) > 8
    assert [one["boxes"][0] for one in seen[1:]] == [exact, short(float(exact))]
    assert {one["threshold"] for one in seen} == {exact}
    assert len({one["count"] for one in seen}) == 1


# Whatever the file

HOSTILE = [
    "</script><script>document.title = 'run'</script>",
    '"><img src=x onerror="document.title = 1">',
    "' onfocus='alert(1)",
    "\u202eesrever\u2066",
    "{{curves}} & \u2028\u2029 <!-- \x00 \x1b[31m",
    "a\udcff",
]


def hostile():
    keys = [f"{text}{k}" for k, text in enumerate(HOSTILE)]
    data = dict.fromkeys(keys, HOSTILE * 2)
    result = assess({**data, "hh": [1, 2, 3] * 4}, keys, household="hh")
    return {
        "stages": dict.fromkeys(HOSTILE, result),
        "title": " ".join(HOSTILE),
        "riskiest": result.riskiest(4),
        "suppressed": dict.fromkeys(keys, 1),
        "facts": list(zip(HOSTILE, HOSTILE[::-1], strict=True)),
    }


def one(data, **options):
    roles = {"weight": "w", "household": "hh" if "hh" in data else None}
    roles["reading"] = Reading(weight_scale=1)  # weights, however large
    return {"stages": {"original": assess(data, ["k"], **roles)}, **options}


def million():
    rng = np.random.default_rng(5)
    data = {
        "k": rng.integers(0, 300_000, 10**6),
        "w": rng.uniform(1.01, 90.0, 10**6),
        "hh": np.arange(10**6) // 3,
    }
    return one(data, threshold=0.05)


FILES = {
    "hostile": hostile,
    "one record": lambda: one({"k": ["a"], "w": [1.0], "hh": [1]}),
    "one cell": lambda: one({"k": ["a"] * 9, "w": [20.0] * 9}, threshold=math.inf),
    "all safe": lambda: one(survey_of_one_key(), threshold=1.0),
    "none safe": lambda: one(survey_of_one_key(), threshold=0.0),
    "tiny risks": lambda: one({"k": [1, 2, 3], "w": [1e300, 1e9, 2.0]}),
    "million": million,
}


def survey_of_one_key():
    data = survey(300, 60, 12, 1)
    return {"k": data["age"], "w": data["w"], "hh": data["hh"]}


@pytest.fixture(scope="module", params=FILES)
def made(request):
    return page(**{"title": "Test", **FILES[request.param]()})


def test_every_page_is_sound_html_that_loads_nothing(made):
    reader = Reader(made)
    ids = [value for _, name, value in reader.attributes if name == "id"]
    assert len(set(ids)) == len(ids)
    assert reader.tags.count("script") == 3
    assert "img" not in reader.tags
    assert not {tag for tag in reader.tags if tag in {"link", "iframe", "object"}}
    names = {name for _, name, _ in reader.attributes}
    assert not names & {"src", "href", "style", "srcset", "action"}
    assert not any(name.startswith("on") for name in names)
    refers = {"aria-labelledby", "aria-describedby", "for"}
    for _, name, value in reader.attributes:
        if name in refers:
            assert value in ids
        if name == "aria-label":
            assert "<bdi>" not in value
    assert "http:" not in made
    assert "https:" not in made
    made.encode()


@needs.chromium
def test_every_page_runs(made, browse):
    actions = [("look", 0), ("slide", 10**4), ("slide", -(10**4)), ("count", "0")]
    shown = browse(made, actions)
    assert all(len(one["figures"]) == 1 for one in shown)
    assert shown[1]["count"] == shown[3]["count"] == "0"
    assert shown[3]["threshold"] == "∞"
    assert shown[2]["reading"].count("100 % of the records") == 1


@needs.chromium
def test_a_label_is_shown_and_not_run(browse):
    options = hostile()
    shown = browse(page(**options), [("stage", k) for k in range(len(HOSTILE))])
    for one, name in zip(shown, HOSTILE[:2], strict=False):
        assert f"File “{name}”." in one["reading"]
    assert "\\u202eesrever" in shown[3]["reading"]
    assert "{{curves}}" in shown[4]["reading"]


# What is in the page


def test_the_office_is_told_what_the_terminal_tells():
    data = {
        "k": ["a", "b", "c", None, "d"] * 8, "w": [0.5, 30, 40, 50, 60] * 8,
        "hh": list(range(40)),
    }  # fmt: skip
    with pytest.warns(PopulationBelowSample):
        result = assess(data, ["k"], "w", "hh", missing="category")
    made = page({"original": result}, title="T")
    rows = {row[0]: row[1] for row in rows_of(made) if len(row) == 2}
    figures = summary(result)
    assert rows["Missing values of k"] == "8"
    assert rows["Population, by weights or counted"] == "1,444"
    assert figures["cells_below_sample"] == 1
    assert any(
        row[0].startswith("Cells whose weights add to less") and row[1] == "1"
        for row in rows_of(made)
    )
    assert rows["Records in such cells"] == "8"
    assert ["", "The file"] in rows_of(made)
    unweighted = page({"original": assess(data, ["k"], missing="category")}, title="T")
    assert "no weights: the file itself" in unweighted
    assert "Records in such cells" not in unweighted


def test_the_page_counts_unsafe_records_as_the_terminal_does():
    data = simulate.microdata(2000, np.random.default_rng(5))
    result = protect(
        data, ["SEX", "AGE"], "WEIGHT", "HOUSEHOLD", threshold=0.05,
        household_threshold=0.01,
    )  # fmt: skip
    rows = {row[0]: row[1:] for row in rows_of(protection_page(result, title="T"))}
    stages = result.sets[0].comparison().values()
    either = rows["Unsafe records, by any goal"]
    own = rows["Unsafe records, risk at or above 0.05"]
    assert either == [f"{one['unsafe_records']:,}" for one in stages]
    assert own == [f"{one['at_risk_threshold']:,}" for one in stages]
    assert either != own


def test_leaks_are_in_the_office_page_only():
    data = simulate.microdata(2000, np.random.default_rng(5))
    rules = {"AGE": Recoding.intervals([30, 60]), "SEX": Recoding.mapping({1: 2})}
    with pytest.warns(SuppressedValueShows):
        result = protect(
            {**data, "BORN": 2001 - data["AGE"]}, ["SEX", "AGE"], "WEIGHT",
            threshold=0.05, recodings=rules, accept={"WEIGHT": "a reason"},
        )  # fmt: skip
    made = protection_page(result, title="T")
    leaks = result.to_dict()["leaks"]
    (said,) = (one for one in leaks if one["column"] == "BORN")
    assert [said["text"], said["advice"]] in rows_of(made)
    (kept,) = (one for one in leaks if one["accepted"])
    assert [kept["text"], "a reason"] in rows_of(made)
    none = verdict_facts(result, result.examination)
    none |= {"verdict": "None.", "leaks": [], "not_examined": ["BORN", "INCOME"]}
    other = protection_page(result, title="T", examined=none)
    assert '<p class="verdict">None.</p>' in other
    assert 'id="leaks' not in other
    assert "BORN and INCOME have no role; give each one" in other
    assert 'id="accepted' not in other
    assert "BORN" not in public_protection_page(result)


def test_accepted_leaks_are_in_the_office_page_with_the_reasons():
    data = simulate.microdata(2000, np.random.default_rng(5))
    own = {**data, "CODE": np.arange(len(data["SEX"]))}
    result = protect(
        own, ["SEX"], "WEIGHT", k=3, accept={"CODE": "<nobody> has it", "*": "a trifle"}
    )
    made = protection_page(result, title="T")
    (said,) = (one for one in result.to_dict()["leaks"] if one["column"] == "CODE")
    assert [said["text"], "<nobody> has it"] in rows_of(made)
    assert 'id="leaks' not in made
    public = public_protection_page(result)
    for word in ("CODE", "nobody", "trifle", "leak", "INCOME"):
        assert word not in public


def test_settings_are_not_cut():
    names = [f"a_rather_long_name_of_a_column_{k}" for k in range(6)]
    data = {name: [1, 2, 1, 2, 2] for name in names}
    cost = dict.fromkeys(names, 12.5)
    related = {names[0]: ["other"]}
    rules = Recoding.intervals([-1, 1], ["low", "middle -> x", "high"])
    result = protect(
        {**data, "other": [1] * 5, "w": [30.0] * 5, "hh": [1, 1, 2, 2, 2]}, names, "w",
        "hh", threshold=0.9, cost=cost, related=related, household_keys=names,
        recodings={"other": rules}, missing="category",
    )  # fmt: skip
    made = protection_page(result, title="T")
    rows = dict(row for row in rows_of(made) if len(row) == 2)
    assert rows["costs"] == ", ".join(f"{name} 12.5" for name in names)
    assert rows["equal within households"] == ", ".join(names)
    assert rows[f"blanked with {names[0]}"] == "other"
    assert rows["column of the weight"] == "w"
    assert rows["column of the household"] == "hh"
    # One rule on each line, with an arrow.
    lines = "(-inf, -1] \u2192 'low'</bdi><br><bdi>(-1, 1]"
    assert lines in made.replace("&#39;", "'")
    assert "-&gt; x" in made


def test_before_and_after(stages):
    rows = rows_of(page(stages, title="T", threshold=0.02, household_threshold=0.3))
    both = list(stages.values())
    for label, values in {
        "Cells": [f"{len(one.cells):,}" for one in both],
        "Unsafe records, risk at or above 0.02": [
            f"{np.count_nonzero(one.unsafe(0.02)):,}" for one in both
        ],
        "Unsafe households, risk at or above 0.3": [
            f"{one.unsafe_household_count(0.3):,}" for one in both
        ],
        "Records in unsafe households": [
            f"{np.count_nonzero(one.unsafe_households(0.3)):,}" for one in both
        ],
    }.items():
        assert [label, *values] in rows
    rate = next(row for row in rows if row[0] == "Re-identification rate")
    assert rate[1:] == [f"{readable(one.reidentification_rate, 2)} %" for one in both]


def test_classes_add_up_to_the_file(small):
    rows = rows_of(page({"original": small}, title="T"))
    classes = [row for row in rows if re.match(r"[\d.e-]+ to [\d.e-]+$", row[0])]
    counts = [int(row[1].replace(",", "")) for row in classes]
    assert sum(counts) == 2 * small.cells.n  # of records, then of households


def test_suppression_and_settings_are_listed():
    data = {"age": list(range(1600)), "region": [1] * 1600, "w": [7.0] * 1600}
    made = page(
        {"original": assess(data, ["age", "region"], "w")},
        title="T",
        suppressed={"age": 400, "region": 1_000},
        facts=[("seed", 2004)],
    )
    rows = rows_of(made)
    assert ["age", "400", "25 %", ""] in rows
    assert ["all variables", "1,400", "", ""] in rows
    assert ["seed", "2004"] in rows
    # Of all records, not of the largest.
    assert re.findall(r'<rect width="([\d.]+)%"', made) == ["25.000", "62.500"]
    assert "0 to 100 % of the records" in made


def test_key_values_are_in_the_page_only_if_asked_for():
    data = {"k": ["Zyx", "Qwv", "Zyx"], "w": [7.0, 9.5, 8.0]}
    result = assess(data, ["k"], "w")
    made = page({"original": result}, title="T")
    assert "Qwv" not in made
    assert "This page holds exact risks; " in made
    asked = page({"original": result}, title="T", riskiest=result.riskiest(1))
    assert "Qwv" in asked
    assert "Zyx" not in asked
    assert "exact risks and lists combinations of key values;" in asked


def test_codes_of_keys_stay_codes(small):
    data = {"k": [1001, 1002, 1001], "w": [7.0, 9.5, 8.0]}
    result = assess(data, ["k"], "w")
    made = page({"original": result}, title="T", riskiest=result.riskiest(1))
    assert ["1", "9.5", "0.105", "1002"] in [row[1:] for row in rows_of(made)]


def test_the_same_input_gives_the_same_page(stages):
    assert page(stages, title="T") == page(stages, title="T")


def test_a_start_is_found_without_a_threshold(small):
    made = page({"original": small}, title="T")
    t = small.distribution.threshold_for_unsafe(0)
    assert t == math.inf  # 1 % of 50 records is none
    assert f'<b data-slot="threshold">{short(small.max_risk)}</b>' in made
    assert f'data-exact="{small.max_risk!r}"' in made


def test_stages_that_do_not_fit_are_refused(small, stages):
    with pytest.raises(ValueError, match="no stages"):
        page({}, title="T")
    with pytest.raises(ValueError, match="numbers of records"):
        page({"a": small, "b": stages["recoded"]}, title="T")
    alone = assess(small.data, ["age"], "w")
    with pytest.raises(ValueError, match="without households: b"):
        page({"a": small, "b": alone}, title="T")
    with pytest.raises(ValueError, match="household_threshold"):
        page({"b": alone}, title="T", household_threshold=0.1)
    with pytest.raises(ValueError, match="threshold"):
        page({"b": alone}, title="T", threshold=-0.1)


def test_a_page_is_written_whole_and_replaces_nothing_unasked(small, tmp_path):
    path = tmp_path / "report.html"
    small.report(path, title="Fi\u2019le", threshold=0.1)
    made = path.read_text("utf-8")
    assert "<title>Fi\u2019le</title>" in made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        small.report(path, title="other")
    with pytest.raises(ValueError, match="threshold"):
        small.report(path, title="other", threshold=-1.0, overwrite=True)
    assert path.read_text("utf-8") == made
    small.report(path, title="other", overwrite=True)
    assert "<title>other</title>" in path.read_text("utf-8")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_the_page_of_a_protection():
    result = protect(
        shuffled_microdata(3000),
        [["REGION", "SEX"], ["SEX", "AGE"]], "WEIGHT", threshold=0.01,
        recodings={"AGE": Recoding.intervals([30, 60])}, cost="entropy",
    )  # fmt: skip
    for position, one in enumerate(result.sets):
        text = protection_page(result, title="<Survey>", keys=position)
        assert f"<h1>&lt;Survey&gt;, set of keys {position + 1} of 2</h1>" in text
        assert f'<p class="verdict">{html.escape(result.verdict)}</p>' in text
        assert " x ".join(f"<bdi>{key}</bdi>" for key in one.keys) in text
        assert f"{result.suppressed['REGION']:,}</td>" in text
        assert "Riskiest combinations" not in text
        assert "(30, 60] \u2192" in text
    with pytest.raises(IndexError):
        protection_page(result, title="Survey", keys=2)


@pytest.mark.parametrize(
    ("names", "related", "shown"),
    [
        ((0, 1), {}, "key variables <bdi>0</bdi> x <bdi>1</bdi>"),
        (("a", "b\nc"), {"a": ["b\nc"]}, "<bdi>b\\nc</bdi>"),
    ],
)
def test_names_that_are_no_text_or_of_two_lines(names, related, shown):
    data = dict(zip(names, (list("ffmff"), list("11222")), strict=True))
    keys = [names[0]] if related else list(names)
    result = protect(
        {**data, "w": [30.0] * 5}, keys, "w", threshold=0.05, related=related
    )
    assert shown in protection_page(result, title="T")


def test_the_page_of_an_assessment_has_the_weights_and_the_numbers():
    data = {
        "sex": list("ffmmfm"),
        "pay": [1, 2, 2, 3, 4, 4],
        "w": [0.5, 9, 9, 9, 9, 90],
    }
    known = assess(data, ["sex"], "w", numeric=["pay"])
    text = assessment_page(known, title="Survey", not_examined=["JOB"])
    assert "Weights: 0.5 to 90, ratio 180" in text
    assert "1 weight is below 1, the smallest 0.5" in text
    assert "Risk if numbers are known" in text
    assert "JOB has no role; give it one" in text
    plain = assessment_page(assess(data, ["sex"]), title="Survey")
    assert "Weights: " not in plain
    assert "Risk if numbers are known" not in plain
