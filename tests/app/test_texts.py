"""Texts in each language: whole, with the same fields, and told as a reader writes."""

import ast
import string
from pathlib import Path

import pytest

import riskcore
from riskcore.app import texts
from riskcore.assessment.reported_figures import FIGURES
from riskcore.common.sentences import fields

PACKAGE = Path(riskcore.__file__).parent
# Arguments with templates, by function.
TEMPLATES = {"sentence": (0,), "by_count": (1, 2)}
# What is not shown in the app.
NOT_SHOWN = ("cli", "accuracy", "bindings")


def strings(node):
    """Return the texts in an expression, of which one is taken."""
    if isinstance(node, ast.IfExp):
        return strings(node.body) + strings(node.orelse)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    return []


def tables_of(tree):
    """Return the texts of the tables of a module, by name."""
    return {
        target.id: [x.value for x in ast.walk(node.value) if isinstance(x, ast.Constant)]
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def called(tree):
    """Yield the calls in a module, with the name of the function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "id", getattr(node.func, "attr", "")), node


def templates():
    """Return the templates of all sentences of the package, with their place."""
    found = {figure.names["page"]: "FIGURES" for figure in FIGURES if "page" in figure.names}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] in NOT_SHOWN:
            continue
        tree = ast.parse(path.read_text())
        tables = tables_of(tree)
        for name, call in called(tree):
            for at in TEMPLATES.get(name, ()):
                argument = call.args[at]
                if isinstance(argument, ast.Subscript):
                    argument = argument.value
                own = strings(argument)
                if isinstance(argument, ast.Name):
                    own = [x for x in tables.get(argument.id, []) if isinstance(x, str)]
                found |= dict.fromkeys(own, f"{place}:{call.lineno}")
            if name == "counted" and len(call.args) > 1:
                nouns = [strings(x) for x in call.args[1:]]
                one, many = nouns[0], (nouns[1] if nouns[1:] else [f"{x}s" for x in nouns[0]])
                found |= dict.fromkeys([f"{{n}} {x}" for x in one + many], f"{place}:{call.lineno}")
    return found
