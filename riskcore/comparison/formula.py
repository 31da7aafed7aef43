"""Read the formula of a model and the names of a table, as users write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from riskcore.common import arguments

Use = Literal["", "number", "category"]
# A name in backticks, or without any character that means something.
_NAME = r"(`[^`]+`|[^`~+:*()]+?)"
_VARIABLE = re.compile(
    rf"\s*(?:(?P<use>number|category)\(\s*(?P<used>{_NAME})\s*\)|(?P<name>{_NAME}))"
    r"\s*(?P<operator>[~+:*]|$)"
)
_HELP = (
    "write it as 'income ~ sex + age', with a*b for a, b and their interaction, and a "
    "name with such signs in backquotes"
)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a model, and how it is used if the formula says so."""

    name: str
    use: Use = ""

    def __str__(self) -> str:
        return f"{self.use}({self.name})" if self.use else self.name


@dataclass(frozen=True, slots=True)
class Formula:
    """A response, its predictors, and the pairs of predictors that interact."""

    text: str
    response: Variable
    predictors: tuple[Variable, ...]
    pairs: tuple[tuple[int, int], ...]  # positions of predictors

    @classmethod
    def of(cls, text: Any) -> Formula:
        """Return the formula that a text says, or refuse it."""
        if not isinstance(text, str):
            raise TypeError(f"models: {arguments.shown(text)} is not text; {_HELP}")
        variables, operators = _parsed(text)
        if operators[:1] != ["~"] or "~" in operators[1:]:
            raise _refused(text, "need one ~, after the response")
        terms = _terms(variables[1:], operators[1:])
        predictors = dict.fromkeys(
            variable
            for term, joined in terms
            for variable in term
            if "*" in joined or not joined
        )
        pairs: dict[tuple[int, int], None] = {}
        order = list(predictors)
        for term, joined in terms:
            if len(term) > 2:
                raise _refused(text, "interactions are of two predictors")
            if ":" in joined and not predictors.keys() >= set(term):
                a, b = term
                raise _refused(text, f"{a}:{b} without {a} and {b}; write {a}*{b}")
            for a, b in combinations(term, 2):
                if a == b:
                    raise _refused(text, f"{a} cannot interact with itself")
                i, j = sorted((order.index(a), order.index(b)))
                pairs[i, j] = None
        formula = cls(" ".join(text.split()), variables[0], tuple(order), tuple(pairs))
        names = [formula.response.name, *(variable.name for variable in order)]
        twice = [name for i, name in enumerate(names) if name in names[:i]]
        if twice:
            raise _refused(text, f"{twice[0]!r} has two roles")
        return formula

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The response, then the predictors."""
        return self.response, *self.predictors


def _parsed(text: str) -> tuple[list[Variable], list[str]]:
    """Return the variables of a formula and the operators between them."""
    variables: list[Variable] = []
    operators: list[str] = []
    position = 0
    while True:
        match = _VARIABLE.match(text, position)
        if match is None or not text[position:].strip():
            raise _refused(text, f"cannot read {arguments.shown(text[position:])}")
        use: Any = match["use"] or ""
        name = match["used"] or match["name"]
        name = name[1:-1] if name.startswith("`") else name.strip()
        variables.append(Variable(name, use))
        if not match["operator"]:
            return variables, operators
        operators.append(match["operator"])
        position = match.end()


def _terms(
    variables: list[Variable], operators: list[str]
) -> list[tuple[tuple[Variable, ...], set[str]]]:
    """Return the variables of each term, and the operators within it."""
    terms: list[tuple[tuple[Variable, ...], set[str]]] = [(tuple(variables[:1]), set())]
    for variable, operator in zip(variables[1:], operators, strict=True):
        if operator == "+":
            terms.append(((variable,), set()))
        else:
            term, joined = terms[-1]
            terms[-1] = (*term, variable), joined | {operator}
    return terms


def _refused(text: str, why: str) -> ValueError:
    return ValueError(f"model {arguments.shown(text)}: {why}; {_HELP}")


def formulas(models: Any) -> tuple[Formula, ...]:
    """Return the formulas of models, each once."""
    if isinstance(models, str) or not isinstance(models, Iterable):
        shown = arguments.shown(models)
        raise TypeError(f"models={shown}: need a list of formulas; {_HELP}")
    return tuple(dict.fromkeys(map(Formula.of, models)))


def table_columns(tables: Any) -> tuple[tuple[Any, ...], ...]:
    """Return the columns of each table; text names them with `` x `` in between."""
    if isinstance(tables, str) or not isinstance(tables, Iterable):
        shown = arguments.shown(tables)
        raise TypeError(f"tables={shown}: need a list such as ['region x sex']")
    column_sets: dict[tuple[Any, ...], None] = {}
    for table in tables:
        names = re.split(r"\s+x\s+", table.strip()) if isinstance(table, str) else table
        columns = tuple(arguments.names("tables", names))
        if not columns or "" in columns or len(set(columns)) < len(columns):
            raise ValueError(
                f"table {arguments.shown(table)}: name different columns, such as "
                "'region x sex'"
            )
        column_sets[columns] = None
    return tuple(column_sets)
