"""The page of recoding: rules from forms, and a preview that is what comes."""

import pandas
import pytest

import riskcore
from riskcore.app.forms import FORMATS, Form
from riskcore.app.pages import recode
from riskcore.app.pages.recode_words import fields_of, way_of
from riskcore.app.session import RefusedError
from tests.app import workbenches
from tests.app.workbenches import KEYS
from tests.app.workbenches import column_form as form

ROLES = workbenches.ROLES | {"INCOME": "numeric", "HOUSEHOLD": None, "PERSON": None}


@pytest.fixture
def bench(opened):
    return opened(roles=ROLES)


def apply(bench, column, numbers="en", **fields):
    recode.apply(bench, form(bench, column, numbers, **fields))
    return bench.table("recodings").get(column)


def of_figures(seen):
    return [then for *_, then in seen["sets"]]


@pytest.mark.parametrize(
    ("column", "fields"),
    [
        ("AGE", {"way": "cut", "side": "from", "break": ["30", "15", "", "65"]}),
        ("AGE", {"way": "cut", "side": "upto", "break": ["40"], "codes": "y,o"}),
        ("AGE", {"way": "ends", "side": "top", "bound": "95%", "code": "old"}),
        ("AGE", {"way": "round", "base": "10"}),
        ("REGION", {"way": "truncate", "drop": "1"}),
        ("MARSTAT", {"way": "merge", "map": "3=2", "pick": ["3"], "new": "1"}),
    ],
)
def test_the_preview_is_what_the_change_gives(bench, column, fields):
    seen = recode.preview(bench, form(bench, column, **fields))
    rule = apply(bench, column, **fields)
    assert seen["rule"] == rule
    assert seen["changed"]
    found = riskcore.protect(
        str(bench.source.path), KEYS, "WEIGHT", recodings={column: rule}, k=3
    )
    stages = found.sets[0].comparison()
    now, then = stages["original"], stages["recoded"]
    names = "unsafe_records", "expected_reidentifications"
    assert of_figures(seen) == [tuple(then[name] for name in names)]
    assert seen["sets"][0][1] == tuple(now[name] for name in names)
    coded = bench.prepared().coded.columns[column]
    codes = [str(coded.labels[one]) for one in coded.codes.tolist()]
    counts = {code: count for code, _, count in seen["bars"]}
    assert counts == {code: codes.count(code) for code in set(codes)}
    after = recode.preview(bench, form(bench, column))
    assert of_figures(after) == of_figures(seen)
    assert not after["changed"]


def test_numbers_are_read_as_the_reader_writes_them(bench):
    rule = apply(bench, "AGE", "de", way="cut", **{"break": ["12,5", "1.000"]})
    assert rule == "from:12.5,1000"
    shown = recode.view(bench, form(bench, "AGE", "de"))["fields"]["breaks"]
    assert shown == ["12,5", "1.000"]
    with pytest.raises(RefusedError, match=r"'12\.5' is not a number"):
        apply(bench, "AGE", "de", way="cut", **{"break": "12.5"})
    assert apply(bench, "AGE", "de", way="ends", bound="99,5 %") == "top:99.5%"


def test_categories_are_merged_and_split_again(bench):
    listed = recode.view(bench, form(bench, "MARSTAT"))["categories"]
    at = {one["code"]: str(one["position"]) for one in listed}
    assert [*at] == ["1", "2", "3", "4"]
    rule = apply(bench, "MARSTAT", way="merge", pick=[at["3"], at["2"]], new="2")
    assert rule == "map:3=2"
    rule = apply(bench, "MARSTAT", way="merge", map="3=2", pick=at["2"], new="1")
    assert rule == "map:3=1,2=1"
    shown = recode.view(bench, form(bench, "MARSTAT"))
    assert [one["to"] for one in shown["categories"]] == ["1", "1", "1", "4"]
    assert shown["columns"][3]["before"] == 4
    assert shown["columns"][3]["after"] == 2
    rule = apply(bench, "MARSTAT", way="merge", map="2=1,3=1", split=at["2"])
    assert rule == "map:3=1"
    assert apply(bench, "MARSTAT", way="merge", map="3=1", split=at["3"]) is None
    assert apply(bench, "MARSTAT", way="merge", map="1=1,*=9") == "map:1=1,*=9"
    shown = recode.view(bench, form(bench, "MARSTAT"))
    assert [one["to"] for one in shown["categories"]] == ["1", "9", "9", "9"]
    assert shown["columns"][3]["after"] == 2


def test_files_are_found_beside_the_rules(bench):
    folder = bench.source.path.parent
    levels = sorted(set(bench.coded_column("MARSTAT").labels.tolist()))
    lines = [f"{code};{'a' if code < '3' else 'b'};all" for code in levels]
    (folder / "marital.csv").write_text("\n".join(lines) + "\n")
    rule = apply(bench, "MARSTAT", way="file", path="marital.csv", level="1")
    assert rule == "hierarchy:marital.csv:1"
    seen = recode.preview(bench, form(bench, "MARSTAT"))
    assert [code for code, *_ in seen["bars"]] == ["a", "b"]
    (folder / "Marital.grc").write_text("1: 1-2\n2: 3-4\n")
    assert apply(bench, "MARSTAT", way="file", path="Marital.grc") == "Marital.grc"
    shown = recode.view(bench, form(bench, "MARSTAT"))
    assert (shown["way"], shown["fields"]["path"]) == ("file", "Marital.grc")
    assert apply(bench, "MARSTAT", way="text", rule="map:4=3") == "map:4=3"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"way": "text", "rule": "from:30,15=a"}, "breaks must increase"),
        ({"way": "truncate", "drop": "9"}, "truncation by 9 leaves nothing"),
        ({"way": "file", "path": "none.grc"}, "neither a file nor a rule"),
        ({"way": "merge", "map": "3"}, "'3' is not OLD=NEW"),
        ({"way": "merge", "do": "merge", "pick": "1"}, "give the code"),
        ({"way": "merge", "pick": "1", "new": "a,b"}, "write a recode file"),
        ({"way": "other"}, "is not a way"),
    ],
)
def test_bad_rules_change_nothing(bench, fields, words):
    before = bench.history.current
    with pytest.raises(RefusedError, match=words):
        recode.preview(bench, form(bench, "MARSTAT", **fields))
    with pytest.raises(RefusedError, match=words):
        recode.apply(bench, form(bench, "MARSTAT", **fields))
    assert bench.history.current is before
    assert recode.preview(bench, form(bench, "MARSTAT"))["before"] == 4


def test_a_recoding_is_taken_away(bench):
    apply(bench, "AGE", way="round", base="10")
    recode.clear(bench, form(bench, "AGE"))
    assert "AGE" not in bench.table("recodings")
    bench.history.undo()
    assert bench.table("recodings")["AGE"] == "round:10"


def test_a_treated_number_does_not_slow_the_preview(bench):
    bench.change("treated", treat={"INCOME": "round:100"})
    recode.preview(bench, form(bench, "AGE", way="round", base="5"))
    assert all(one.treated is None for one in bench._kept["prepared"].values())
    bench.change("weights", treat={"WEIGHT": "share-weights:5"})
    seen = recode.preview(bench, form(bench, "AGE", way="round", base="5"))
    apply(bench, "AGE", way="round", base="5")
    state = bench.tried()
    assert of_figures(seen) == [(state.unsafe[0], state.expected[0])]


def test_the_picture_counts_every_record(bench):
    picture = recode.view(bench, form(bench, "AGE"))["picture"]
    column = bench.coded_column("AGE")
    assert picture["records"] == len(column.codes)
    axis = picture["axis"]
    assert axis.whole
    assert len(axis.edges) == picture["largest"] - picture["smallest"] + 2


def test_rules_and_their_forms():
    assert way_of("upto:1") == "cut"
    assert way_of("top:60,bottom:30") == "text"
    assert fields_of("from:1.5,2000=a,b,c", FORMATS["de"])["breaks"] == ["1,5", "2.000"]
    assert fields_of("top:99.5%=z", FORMATS["fr"])["bound"] == "99,5%"
    assert fields_of("hierarchy:a/b.csv:2", FORMATS["en"])["path"] == "a/b.csv"
    assert fields_of(None, FORMATS["en"])["breaks"] == []


def test_without_keys_the_page_says_so(opened):
    assert recode.view(opened(), Form())["lacking"]


def test_rules_that_do_not_suit_the_file_can_be_mended(bench):
    bench.change("by hand", recodings={"MARSTAT": "truncate:9"})
    seen = recode.view(bench, form(bench, "MARSTAT"))
    assert "truncation by 9" in seen["fault"]
    assert seen["fields"]["truncate"] == "9"
    recode.clear(bench, form(bench, "MARSTAT"))
    assert recode.view(bench, form(bench, "MARSTAT"))["fault"] == ""


def test_categories_may_be_checked_before_their_new_code_is_given(bench):
    checked = {"way": "merge", "pick": ["2", "3"]}
    seen = recode.preview(bench, form(bench, "MARSTAT", **checked))
    assert not seen["changed"]
    with pytest.raises(RefusedError, match="give the code that the checked"):
        apply(bench, "MARSTAT", do="merge", **checked)


def test_only_codes_that_are_text_are_offered_to_be_shortened(tmp_path, opened):
    for name, code in {"text": "0361", "numbers": 361}.items():
        path = tmp_path / f"{name}.parquet"
        pandas.DataFrame({"a": [code] * 9, "b": [1, 2, 3] * 3}).to_parquet(path)
        bench = opened(path)
        bench.set_roles({"a": "key", "b": "key"}, "keys")
        shown = recode.PAGE.view(bench, Form())
        assert ("truncate" in shown["ways"]) == (name == "text")


@pytest.mark.parametrize("code", ["1" + "0" * 400, "1e308"])
def test_numbers_too_far_apart_have_no_picture(tmp_path, code, opened):
    path = tmp_path / "far.csv"
    path.write_text(f"a,b\n-1e308,1\n{code},2\n3,1\n" * 9)
    bench = opened(path)
    bench.set_roles({"a": "key", "b": "key"}, "keys")
    shown = recode.PAGE.view(bench, Form())
    assert shown["picture"] is None
    assert "cut" not in shown["ways"]


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_categories_with_a_point_are_merged_by_the_names_of_rules(
    tmp_path, kind, opened
):
    import pandas as pd

    codes = pd.Series([1, 2, 2.5, None] * 3, dtype=kind)
    path = tmp_path / "survey.parquet"
    pd.DataFrame({"EDU": codes, "SEX": ["f", "m"] * 6}).to_parquet(path)
    bench = opened(path)
    bench.set_roles({"EDU": "key", "SEX": "key"}, "roles")
    seen = recode.preview(bench, form(bench, "EDU", way="merge", pick=["0"], new="2"))
    assert (seen["before"], seen["after"], seen["doubts"]) == (3, 2, [])
    recode.apply(bench, form(bench, "EDU", way="merge", pick=["0"], new="2"))
    assert bench.table("recodings") == {"EDU": "map:1=2"}
    rows = recode.view(bench, form(bench, "EDU"))["categories"]
    assert [(one["code"], one["to"]) for one in rows][:2] == [("1", "2"), ("2", "2")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("secret.grc", "root:x:0:0:hush:/root\n"),
        ("secret.grc", "1: bhush-ahush\n"),
        ("secret.grc", "<hush>\n"),
        ("secret.csv", "a;hush\na;hush\n"),
        ("secret.csv", "a;hush;x\nb;hush;y\n"),
        ("secret.csv", "hush\n"),
        ("secret.csv", 'a;"hush"x\n'),
    ],
)
def test_what_stands_in_a_file_is_not_said_when_it_is_no_recoding(bench, name, text):
    path = bench.path.parent / name
    path.write_text(text)
    level = {"level": 1} if name.endswith(".csv") else {}
    with pytest.raises(RefusedError) as caught:
        recode.apply(bench, form(bench, "AGE", way="file", path=path, **level))
    assert name in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["a,hush\nb,c,hush\n", "hush\n", "a,b,c\nhush,1\n", "a,b,c\nx,y;hush,5\n"]
)
@pytest.mark.parametrize("kind", ["rake", "pram"])
def test_what_stands_in_a_file_is_not_said_when_it_has_no_totals(bench, kind, text):
    path = bench.path.parent / "secret.csv"
    path.write_text(text)
    name = "WEIGHT" if kind == "rake" else "CITIZENSHIP"
    bench.change("treat", treat={name: "share-weights:5"}) if kind == "rake" else None
    with pytest.raises(RefusedError) as caught:
        bench.change("other", treat={name: f"{kind}:{path}"})
    assert "hush" not in str(caught.value)
