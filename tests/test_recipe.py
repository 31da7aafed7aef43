"""The recipe for conda says what pyproject.toml says."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import riskcore

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def recipe():
    """Return the recipe, with the variables of its context in their places."""
    text = (ROOT / "recipe" / "recipe.yaml").read_text()
    for name, value in yaml.safe_load(text)["context"].items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    return yaml.safe_load(text)


def extra(*names):
    """Return the libraries of extras, and of the extras that they name."""
    found = set()
    for name in names:
        for each in PROJECT["project"]["optional-dependencies"][name]:
            inner = re.fullmatch(r"riskcore\[([\w,]+)\]", each)
            found |= extra(*inner[1].split(",")) if inner else {each}
    return found


def in_words_of_conda(libraries):
    """Return what conda calls libraries: "name >=version,<ceiling"."""
    return {re.sub(r"(?=>=)", " ", each, count=1) for each in libraries}


def test_the_version(recipe):
    version = PROJECT["project"]["version"]
    assert recipe["package"] == {"name": "riskcore", "version": version}
    assert version == riskcore.__version__
    assert recipe["source"]["url"].endswith(f"/riskcore-{version}.tar.gz")


def test_the_libraries(recipe):
    floor = PROJECT["project"]["requires-python"]
    libraries = extra("all")
    of_the_demo = {each for each in libraries if re.match("jinja2|pyarrow", each)}
    needed = {*PROJECT["project"]["dependencies"], *extra("jit"), *of_the_demo}
    run = in_words_of_conda(needed)
    assert set(recipe["requirements"]["run"]) == {f"python {floor}", *run}
    optional = in_words_of_conda(libraries - needed)
    assert set(recipe["requirements"]["run_constraints"]) == optional


def test_how_it_is_built(recipe):
    python = PROJECT["project"]["requires-python"].removeprefix(">=")
    build = in_words_of_conda(PROJECT["build-system"]["requires"])
    assert set(recipe["requirements"]["host"]) == {f"python {python}.*", "pip", *build}
    (command,) = recipe["build"]["python"]["entry_points"]
    name, _, target = command.partition(" = ")
    assert PROJECT["project"]["scripts"] == {name: target}
    assert recipe["build"]["noarch"] == "python"


def test_what_it_says_of_itself(recipe):
    about, project = recipe["about"], PROJECT["project"]
    assert about["summary"] == project["description"]
    assert about["license"] == project["license"]
    texts = [path for glob in project["license-files"] for path in ROOT.glob(glob)]
    assert {ROOT / name for name in about["license_file"]} == {*texts}
