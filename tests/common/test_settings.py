"""Settings: tables, signatures, options and records agree."""

import argparse
import inspect
import re
from typing import Annotated, TypedDict

import pytest

import riskcore
from riskcore.assessment.assess_settings import AssessSettings, CheckSettings
from riskcore.cli import assess, check, protect
from riskcore.cli.settings import options_of
from riskcore.common.settings import Choice, Share, complete, settings_of, takes
from riskcore.protection.settings.kinds import fault_in
from riskcore.protection.settings.settings import Settings
from riskcore.protection.settings.settings_table import (
    RECORDED,
    ProtectSettings,
    WriteSettings,
)

TABLES = {
    riskcore.assess: (AssessSettings, assess),
    riskcore.check: (CheckSettings, check),
    riskcore.protect: (ProtectSettings, protect),
}


class Table(TypedDict, total=False):
    """A table for the tests."""

    mode: Annotated[str, Choice(default="a", choices=("a", "b"), help="the mode")]
    share: Annotated[float | None, Share(within="(0, 1]", unit="a risk", help="100%")]


@takes(Table)
def function(data, *, progress=None, **settings):
    return complete(Table, settings)


def test_defaults_and_signature():
    assert function(1) == {"mode": "a", "share": None}
    assert function(1, mode="b", share=0.5) == {"mode": "b", "share": 0.5}
    named = inspect.signature(function).parameters
    assert list(named) == ["data", "mode", "share", "progress"]
    assert named["mode"].default == "a"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"shar": 1}, TypeError, "unexpected keyword argument 'shar'; did you mean 's"),
        ({"mode": "c"}, ValueError, "mode='c'"),
        ({"mode": None}, ValueError, "mode=None"),
        ({"share": 0}, ValueError, r"share=0: need a risk in \(0, 1\]"),
        ({"share": "x"}, TypeError, "share='x': need a number"),
    ],
)
def test_what_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        function(1, **given)


@pytest.mark.parametrize("call", TABLES)
def test_a_function_its_help_and_its_command_have_the_settings_of_its_table(call):
    table, command = TABLES[call]
    named = inspect.signature(call).parameters
    for name, setting in settings_of(table).items():
        assert named[name].default == setting.default, name
        assert named[name].kind is named[name].KEYWORD_ONLY
    assert documented(call) == set(named)
    parser = argparse.ArgumentParser(add_help=False)
    command.add(parser)
    options = {action.dest for action in parser._actions}
    assert options_of(table) <= options


def documented(call):
    """Return the names of the parameters that a docstring describes."""
    shown = re.search(r"Parameters\n-+\n(.*?)\n\nReturns", inspect.getdoc(call), re.S)
    lines = re.findall(r"^(\w[\w, ]*?)(?: : .*)?$", shown[1], re.M)
    return {name for line in lines for name in line.split(", ")}


def test_writing_has_the_settings_of_its_table():
    write = riskcore.Protected.write
    named = inspect.signature(write).parameters
    assert documented(write) | {"self"} == set(named)
    for name, setting in settings_of(WriteSettings).items():
        assert named[name].default == setting.default, name
    parser = argparse.ArgumentParser(add_help=False)
    protect.add(parser)
    in_python = {"secret"}
    assert options_of(WriteSettings) - in_python <= {
        one.dest for one in parser._actions
    }


def test_a_record_holds_the_resolved_settings():
    result = riskcore.protect({"a": [1, 1, 2]}, ["a"], k=2)
    plain = result.settings.to_dict()
    assert set(plain) == set(RECORDED)
    for name, setting in RECORDED.items():
        assert fault_in(setting.recorded_shape, plain[name], ()) is None, name
    assert Settings.from_dict(plain) == result.settings


def test_settings_of_a_result_stand_for_all_arguments():
    data = {"a": [1, 1, 2], "b": [1, 2, 2]}
    first = riskcore.protect(data, ["a", "b"], k=2, cost={"a": 1})
    again = riskcore.protect(data, first.settings)
    assert again.data == first.data
    with pytest.raises(TypeError, match="give nothing else"):
        riskcore.protect(data, first.settings, k=3)
