"""Numbers and labels of recoded columns, and the files of SPSS and Stata with them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from riskcore import Recoding, check, compare, protect, read_recoding
from riskcore.data.recoded_labels import NumberedCategories
from riskcore.data.recoding_words import recoding_of
from riskcore.protection.release.readback import ReadBackError
from tests.accepted import ANY_LEAK

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.showing.SuppressedValueShows",
    "ignore::riskcore.data.recode.DoubtfulRules",
)
MARITAL = {"1": "Single", "2": "Married", "3": "Widowed", "4": "Divorced"}
GROUPS = Recoding.intervals([15, 30, 65], closed="left")


@pytest.mark.parametrize(
    ("recoding", "categories", "labels", "missing", "numbers", "named"),
    [
        # Names are numbered in the order of the rules, and only those that occur.
        (
            GROUPS,
            [">= 65", "< 15", "[15, 30)"],
            {"20": "x"},
            (),
            {"< 15": 1, "[15, 30)": 2, ">= 65": 3},
            {"1": "< 15", "2": "[15, 30)", "3": ">= 65"},
        ),
        # No number is given that stands for a missing value, but for endless ranges.
        (
            GROUPS,
            ["< 15", "[15, 30)", ">= 65"],
            {},
            ((2, 2), (3, 1e308)),
            {"< 15": 1, "[15, 30)": 3, ">= 65": 4},
            {"1": "< 15", "3": "[15, 30)", "4": ">= 65"},
        ),
        (
            GROUPS,
            ["< 15", "[15, 30)", ">= 65"],
            {},
            ((1, 3), (5, 5), ("A", "B")),
            {"< 15": 4, "[15, 30)": 6, ">= 65": 7},
            {"4": "< 15", "6": "[15, 30)", "7": ">= 65"},
        ),
        # Merged codes have their labels, whether or not the old codes occur.
        (
            Recoding.mapping({3: 2, 4: 2}),
            [1, 2],
            MARITAL,
            (),
            {1: 1, 2: 2},
            {"1": "Single", "2": "Married; Widowed; Divorced"},
        ),
        (
            Recoding.mapping({3: 2, 4: 5}),
            [1, 2, 5],
            MARITAL,
            ((4, 4),),
            {1: 1, 2: 2, 5: 5},
            {"1": "Single", "2": "Married; Widowed"},
        ),
        # A name among kept numbers gets the end of its range.
        (
            Recoding.top_bottom(top=85, top_label="85+"),
            ["84", "85+", "3"],
            {"3": "three", "90": "ninety"},
            (),
            {"84": 84, "85+": 85, "3": 3},
            {"85": "85+", "3": "three"},
        ),
        (
            Recoding.top_bottom(top=85.5, top_label="old"),
            ["84", "old"],
            {},
            (),
            {"84": 84, "old": 85},
            {"85": "old"},
        ),
        # Ranges to numbers: in words.
        (Recoding.top_bottom(top=85), [84, 85], {}, (), None, {"85": "85 and more"}),
        (
            Recoding.intervals([15, 30], [1, 2, 3]),
            [1.0, 2.0, 3.0],
            {},
            (),
            None,
            {"1": "15 and less", "2": "(15, 30]", "3": "(30, inf)"},
        ),
        # Rounded numbers are not categories; a number in other words is a name.
        (Recoding.rounding(10), [10, 20], {"11": "eleven"}, (), None, {}),
        (
            Recoding.mapping({1: "01", 2: "1e3"}),
            ["01", "1e3"],
            {},
            (),
            {"01": 1, "1e3": 2},
            {"1": "01", "2": "1e3"},
        ),
        # Codes that the recoding refuses have no part.
        (
            Recoding.mapping({1: 2}, others="refuse"),
            [2],
            MARITAL,
            (),
            {2: 2},
            {"2": "Single"},
        ),
    ],
)
def test_numbers_and_labels(recoding, categories, labels, missing, numbers, named):
    found = NumberedCategories.of(recoding, categories, labels, missing)
    if numbers is not None:
        assert found.numbers == numbers
    assert found.labels == named
    assert len(set(found.numbers.values())) == len(categories)


@pytest.mark.parametrize(
    ("recoding", "labels", "named"),
    [
        (Recoding.top_bottom(top=85), {"99": "refused"}, {"85": "85 and more"}),
        (Recoding.mapping({1: 2}), {"1": "Married"}, {"2": "Married; 2"}),
        (recoding_of("map:1=2,*=85"), {"99": "refused"}, {}),
        (
            recoding_of("map:1=2,99=2"),
            {"99": "x", "1": "y", "2": "z"},
            {"2": "x; y; z"},
        ),
    ],
)
def test_the_label_of_one_code_is_not_put_on_others(recoding, labels, named):
    codes = [1.0, 2.0, 90.0, 99.0]
    new = {code for code in recoding.apply(codes).codes if code in (2, 85)}
    new = [*map(float, new)]
    assert NumberedCategories.of(recoding, new, labels, (), codes).labels == named


def test_long_labels_are_cut():
    labels = {str(i): f"category {i}" for i in range(30)}
    merged = Recoding.intervals([100], [1, 2])
    (label,) = NumberedCategories.of(merged, [1], labels).labels.values()
    assert label.startswith("category 0; category 1; ")
    assert label.endswith("…")
    assert len(label) == 60


@pytest.fixture(params=["sav", "dta"])
def survey(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "age": random.integers(0, 90, 300).astype(float),
            "marital": random.choice([1.0, 2.0, 3.0, 4.0], 300),
            "w": random.uniform(20, 60, 300),
        }
    )
    frame.loc[:4, "age"] = np.nan
    how = {
        "column_labels": {"age": "Age in years", "marital": "Marital status"},
        "variable_value_labels": {
            "marital": {int(code): label for code, label in MARITAL.items()},
            "age": {0: "newborn"},
        },
    }
    if request.param == "sav":
        how["missing_ranges"] = {"age": [{"lo": 1, "hi": 1}, {"lo": 97, "hi": 99}]}
        frame.loc[frame["age"] == 1, "age"] = 2.0
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[request.param]
    write(frame, f"survey.{request.param}", **how)
    return request.param, frame


def shown(path):
    read = pyreadstat.read_dta if path.endswith("dta") else pyreadstat.read_sav
    return read(path, user_missing=True)


RULES = {"age": GROUPS, "marital": Recoding.mapping({3: 2, 4: 2})}


def test_a_safe_file_has_codes_with_labels(survey):
    suffix, frame = survey
    path, safe, keys = f"survey.{suffix}", f"safe.{suffix}", ["age", "marital"]
    result = protect(path, keys, "w", k=3, threshold=0.02, recodings=RULES, **ANY_LEAK)
    assert result.write(safe)["output"]["sha256"]
    data, about = shown(safe)
    first = 2 if suffix == "sav" else 1  # 1 is a missing code of the survey
    names = ["< 15", "[15, 30)", "[30, 65)", ">= 65"]
    labels = {float(first + i): name for i, name in enumerate(names)}
    assert about.variable_value_labels["age"] == labels
    assert about.variable_value_labels["marital"] == {
        1.0: "Single",
        2.0: "Married; Widowed; Divorced",
    }
    assert about.column_names_to_labels["age"] == "Age in years"
    assert about.missing_ranges == {}
    breaks = np.searchsorted([15, 30, 65], frame["age"], "right") + first
    kept = data["age"].notna().to_numpy()
    assert 0 < kept.sum() <= frame["age"].notna().sum()
    np.testing.assert_array_equal(data["age"][kept], breaks[kept])
    # The record, a check and a comparison know the categories.
    record = f"{safe}.private.json"
    again = protect(path, result.settings)
    again.write(f"again.{suffix}")
    assert Path(f"again.{suffix}").read_bytes() == Path(safe).read_bytes()
    assert check(safe, record=record).passed
    found = compare(path, safe, keys, "w", recodings=RULES)
    known = result.compare()
    for one, other in zip(found.keys, known.keys, strict=True):
        assert not one.reason
        assert one.total_variation == other.total_variation
        assert one.suppressed == other.suppressed


def protected_by_age(suffix, rules=RULES):
    return protect(
        f"survey.{suffix}", ["age"], "w", threshold=0.9, recodings=rules,
        **ANY_LEAK,
    )  # fmt: skip


def test_other_formats_have_the_categories(survey):
    suffix, _ = survey
    result = protected_by_age(suffix)
    result.write("safe.csv")
    assert set(pd.read_csv("safe.csv")["age"].dropna()) == {
        "< 15", "[15, 30)", "[30, 65)", ">= 65",
    }  # fmt: skip


def test_a_map_in_words_merges_numbers(survey):
    suffix, _ = survey
    made = []
    for rule in (RULES["marital"], "map:3=2,4=2"):
        result = protect(
            f"survey.{suffix}", ["age", "marital"], "w", k=3,
            recodings={**RULES, "marital": rule}, **ANY_LEAK,
        )  # fmt: skip
        result.write(f"safe.{suffix}", overwrite=True)
        data, about = shown(f"safe.{suffix}")
        made.append((data, about.variable_value_labels["marital"]))
    pd.testing.assert_frame_equal(made[0][0], made[1][0])
    assert (
        made[0][1] == made[1][1] == {1.0: "Single", 2.0: "Married; Widowed; Divorced"}
    )


def test_numbers_of_a_grc_file_stay_numbers(survey):
    suffix, _ = survey
    Path("age.grc").write_text("1: - 14\n2: 15 - 64\n3: 65 -\n")
    rules = {"age": read_recoding("age.grc")}
    result = protected_by_age(suffix, rules)
    result.write(f"safe.{suffix}")
    data, about = shown(f"safe.{suffix}")
    assert sorted(data["age"].dropna().unique()) == [1.0, 2.0, 3.0]
    # A label of one code does not say what others mean.
    assert about.variable_value_labels["age"] == {
        1.0: "14 and less",
        2.0: "15 to 64",
        3.0: "65 and more",
    }


def test_a_treated_value_does_not_take_the_label_of_a_code(survey):
    suffix, _ = survey
    result = protect(
        f"survey.{suffix}", ["marital"], "w", threshold=0.9, treat={"age": "round:10"},
        **ANY_LEAK,
    )  # fmt: skip
    result.write(f"safe.{suffix}")
    data, about = shown(f"safe.{suffix}")
    assert (data["age"] == 0).sum() > 5
    assert set(about.variable_value_labels) == {"marital"}
    assert about.missing_ranges == {}


@pytest.mark.parametrize("what", ["label", "lacking", "more"])
def test_damaged_labels_are_seen(survey, monkeypatch, what):
    suffix, _ = survey
    name = {"sav": "write_sav", "dta": "write_dta"}[suffix]
    write = getattr(pyreadstat, name)

    def damaged(frame, path, **how):
        labels = how["variable_value_labels"]["age"]
        code = next(iter(labels))
        if what == "label":
            labels[code] = "other"
        elif what == "lacking":
            del labels[code]
        else:
            labels[type(code)(77)] = "suppressed"
        return write(frame, path, **how)

    monkeypatch.setattr(pyreadstat, name, damaged)
    result = protected_by_age(suffix)
    with pytest.raises(ReadBackError, match="labels of 'age' are not as expected"):
        result.write(f"safe.{suffix}")
    assert not Path(f"safe.{suffix}").exists()
