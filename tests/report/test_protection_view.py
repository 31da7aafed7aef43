"""The tiles and the treated columns of the office's page, counted again."""

import re

import numpy as np
import pytest

from riskcore import protect
from riskcore.common.html import all_digits, readable
from riskcore.report.page import protection_page, tiles_of, treatments_view
from riskcore.report.public_page import public_protection_page
from tests.report.reading import shuffled_microdata, table_of

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]
REASON = "nobody else has the weights of this year"


@pytest.fixture(scope="module")
def protected():
    data = shuffled_microdata(2000, *KEYS, "WEIGHT", "INCOME", "EDUCATION")
    data["INCOME"] = data["INCOME"].astype(float)
    data["INCOME"][:7] = np.nan
    return protect(
        data, KEYS, "WEIGHT", k=2,
        treat={"INCOME": "noise:10%", "EDUCATION": "pram:0.5"},
        accept={"WEIGHT": REASON},
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(protected):
    return protection_page(protected, title="T")


def test_the_page_begins_with_the_verdict_and_its_tiles(made, protected):
    head, _, rest = made.partition("<main>")
    order = [head.index(x) for x in ('class="verdict"', '<dl class="tiles">', "<b>For")]
    assert order == sorted(order)
    assert head.count("<dt>") == 6  # three of the figures, and three of the verdict
    places = [rest.index(f"{name}-title") for name in ("leaks", "accepted", "treated")]
    assert places == sorted(places)
    assert all(
        section.startswith("<details")
        for section in re.findall(r"<section[^>]*>\s*(<\w+)", rest)[3:]
    )
    assert " open>" not in rest


def test_tiles_are_counted_again(protected):
    n = protected.n
    unsafe, cost, expected = tiles_of(protected, protected.sets[0])
    first = protected.original.cells.below(2).records
    assert unsafe.name == "Unsafe records"
    assert unsafe.figures == [(f"{readable(float(first))} → 0", f"{first:,} → 0")]
    rate = protected.original.reidentification_rate
    before, after = expected.figures[0][1].split(" → ")
    assert float(before.replace(",", "")) == pytest.approx(rate * n, rel=1e-12)
    assert float(after) == pytest.approx(
        protected.sets[0].protected.individual_risk.sum(), rel=1e-12
    )
    blanks = sum(int(np.ma.count_masked(protected.data[key])) for key in KEYS)
    assert blanks > 1000
    treated = protected.treated
    altered = sum(int(treated.altered(name).sum()) for name in treated.after)
    of = 2 * n - 7
    assert cost.figures == [
        (f"{readable(blanks / (4 * n), 2)} %", f"{blanks:,} of {4 * n:,} values"),
        (f"{readable(altered / of, 2)} %", f"{altered:,} of {of:,} values"),
    ]


def test_without_treatments_the_page_speaks_of_blanks_alone():
    result = protect({"k": list("aabbc")}, ["k"], k=2)
    assert tiles_of(result, result.sets[0])[1].name == "Blanked values"
    assert treatments_view(result) is None
    assert "Treatments" not in protection_page(result, title="T")


def test_treated_columns_before_and_after(made, protected):
    rows = table_of(made, "How columns were treated")[1:]
    assert [row[0] for row in rows] == ["INCOME", "EDUCATION"]
    before, after = (
        np.asarray(values, float)
        for values in (protected.before.column("INCOME"), protected.data["INCOME"])
    )
    present = ~np.isnan(before)
    changed = np.count_nonzero((before != after)[present])
    assert rows[0][2] == f"{readable(changed / (protected.n - 7), 2)} %"
    (row,) = table_of(made, "Weighted figures of the treated columns")[1:]
    weight = np.asarray(protected.before.column("WEIGHT"), float)[present]
    for k, column in enumerate((before, after)):
        mean = np.average(column[present], weights=weight)
        sd = np.average((column[present] - mean) ** 2, weights=weight) ** 0.5
        assert row[1].split(" → ")[k] == readable(mean)
        assert row[2].split(" → ")[k] == readable(sd)


def test_exact_numbers_stand_where_the_pointer_rests(made, protected):
    found = protected.sets[0].comparison()
    exact = " → ".join(
        all_digits(found[stage]["expected_reidentifications"])
        for stage in ("original", "protected")
    )
    assert f'<dd class="figure"><span title="{exact}">' in made


def test_the_public_page_names_no_leak_and_says_how_columns_were_treated(protected):
    kept = [one for one in protected.to_dict()["leaks"] if one["accepted"]]
    assert kept
    text = public_protection_page(protected, title="Survey of 2024")
    # The verdict says that there are leaks, and nothing says which.
    said = re.sub("<style>.*?</style>", "", text, flags=re.S).lower()
    before, _, after = said.partition(
        "not safe: the goals are met, but leaks are open."
    )
    assert after
    for told in ("leak", "accept", REASON, "examined", *(x["text"] for x in kept)):
        assert told.lower() not in before + after
    rows = dict(table_of(text, "How the figures were made")[1:])
    (noise,), (pram,) = protected.settings.treat.values()
    assert rows["treatment of INCOME"] == noise.describe(public=True)
    assert rows["treatment of EDUCATION"] == pram.describe(public=True)
    assert pram.describe(public=True) != pram.describe(public=False)
    assert pram.describe(public=False) not in text


def test_the_title_of_the_survey_is_the_headline(protected):
    text = public_protection_page(protected, title="Survey of 2024")
    assert "<h1>Survey of 2024</h1>" in text
    assert "<title>Survey of 2024: re-identification risk after protection<" in text
    assert "Re-identification risk after protection of 2,001 records" in text
    neutral = public_protection_page(protected)
    assert "<h1>Re-identification risk after protection</h1>" in neutral
    assert neutral.count("Re-identification risk after protection") == 2
