"""Formulas of models and names of tables."""

import pytest

from riskcore.comparison.formula import Formula, Variable, formulas, table_columns

A, B, C = (Variable(name) for name in "abc")


@pytest.mark.parametrize(
    ("text", "predictors", "pairs"),
    [
        ("y ~ a", (A,), ()),
        ("y~a+b", (A, B), ()),
        ("y ~ a * b", (A, B), ((0, 1),)),
        ("y ~ a + b + b:a", (A, B), ((0, 1),)),
        ("y ~ a + b*c + a:c", (A, B, C), ((1, 2), (0, 2))),
        ("y ~ a + a", (A,), ()),
        (
            "y ~ number(a) + category( b )",
            (Variable("a", "number"), Variable("b", "category")), (),
        ),
        ("y ~ household size", (Variable("household size"),), ()),
        ("y ~ `a+b (c)` + a", (Variable("a+b (c)"), A), ()),
    ],
)  # fmt: skip
def test_what_a_formula_says(text, predictors, pairs):
    found = Formula.of(text)
    assert found.response == Variable("y")
    assert found.predictors == predictors
    assert found.pairs == pairs


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a + b", "need one ~"),
        ("y ~ a ~ b", "need one ~"),
        ("y ~", "cannot read ''"),
        ("~ a", "cannot read '~ a'"),
        ("y ~ a + ", "cannot read"),
        ("y ~ log(a)", "cannot read ' log(a)'"),
        ("y ~ a:b", "a:b without a and b; write a*b"),
        ("y ~ a*b*c", "of two predictors"),
        ("y ~ a*a", "cannot interact with itself"),
        ("y ~ y + a", "'y' has two roles"),
        ("y ~ number(a) + category(a)", "'a' has two roles"),
        ("y ~ ``", "cannot read"),
    ],
)
def test_formulas_that_are_refused(text, said):
    with pytest.raises(ValueError, match="write it as") as refused:
        Formula.of(text)
    assert said in str(refused.value)


def test_lists_of_models_and_tables():
    assert len(formulas(["y ~ a", "y ~  a", "y ~ b"])) == 2
    assert table_columns(["a x b", "c", ("a", 2)]) == (("a", "b"), ("c",), ("a", 2))
    with pytest.raises(TypeError, match="need a list of formulas"):
        formulas("y ~ a")
    with pytest.raises(TypeError, match="is not text"):
        formulas([1])
    with pytest.raises(TypeError, match="need a list such as"):
        table_columns("a x b")
    for table in ("a x a", "", ()):
        with pytest.raises(ValueError, match="name different columns"):
            table_columns([table])
