"""The error for names that are not columns."""

from pathlib import Path

import pytest

from riskcore.common.missing_column import no_such_column


def said(lacking, names, path=None):
    error = no_such_column(lacking, names, path)
    assert isinstance(error, KeyError)
    return error.args[0]


@pytest.mark.parametrize(
    ("lacking", "names", "expected"),
    [
        (["b"], ["x", "y"], "no column 'b'; the columns are 'x', 'y'"),
        (["SEX"], ["sex", "x"],
         "no column 'SEX'; did you mean 'sex'? The columns are 'sex', 'x'"),
        (["ages"], ["Age", "AGE", "x"],
         "no column 'ages'; did you mean 'Age' or 'AGE'? The columns are 'Age', 'AGE', "
         "'x'"),
        (["zzz", "Age"], ["age"],
         "no column 'zzz', 'Age'; did you mean 'age'? The columns are 'age'"),
        (["a,b"], ["a", "b"],
         "no column 'a,b'; give each name by itself, with blanks between: a b (in "
         "Python: ['a', 'b']); the columns are 'a', 'b'"),
        (["a,c"], ["a", "b"], "no column 'a,c'; the columns are 'a', 'b'"),
        (["A"], [" A ", "b"],
         "no column 'A'; did you mean ' A '? The columns are ' A ', 'b'"),
        (["b"], ["a;b;c"],
         "no column 'b'; the first line was read as one name: is the delimiter "
         "another, to be given by riskcore.Reading(delimiter=...)? The columns are "
         "'a;b;c'"),
        (["ab"], ["ab;c;long;names;of;columns"],
         "no column 'ab'; the first line was read as one name: is the delimiter "
         "another, to be given by riskcore.Reading(delimiter=...)? The columns are "
         "'ab;c;long;names;of;columns'"),
        ([1], [10, None, ("k", 1)],
         "no column 1; did you mean 10? The columns are 10, None, ('k', 1)"),
        (["a"], [], "no column 'a'; there are no columns"),
        (["a\nb"], ["x\ty"], r"no column 'a\nb'; the columns are 'x\ty'"),
    ],
)  # fmt: skip
def test_columns_and_close_names_are_listed(lacking, names, expected):
    assert said(lacking, names) == expected
    assert said(lacking, iter(names)) == expected
    path = Path("folder") / "s.csv"
    assert said(lacking, names, path) == f"{path}: {expected}"


def test_many_and_long_names_are_cut():
    names = [f"{i:04}" + "n" * 1_000 for i in range(200)]
    text = said(names[:30], ["x", *names[30:]])
    assert len(text) < 4000
    assert text.startswith("no column '0000nnnn")
    assert text.count(" and ") == 2
    assert "n' and 20 more; did you mean" in text
    assert text.endswith("n' and 151 more")
