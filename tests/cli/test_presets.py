"""``riskcore rules`` and ``run --preset``: the rules of offices on the command line."""

import html
import json
import subprocess
import sys

import pytest

from riskcore.cli import main
from riskcore.data.files import formats
from riskcore.protection import presets

RULES = """
format = 1
[data]
file = "survey.csv"
[classes]
identifier = ["NAME"]
identifying = ["SEX", "AGE"]
[output]
file = "safe.csv"
"""


SAID = "By the preset health-k3: Health data, at least 3 records alike"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a survey and rules that name no preset."""
    monkeypatch.chdir(tmp_path)
    data = {
        "NAME": [f"person {i}" for i in range(40)],
        "SEX": ["mf"[i % 2] for i in range(40)],
        "AGE": [(30, 40, 50, 60)[i // 2 % 4] for i in range(40)],
    }
    formats.write(tmp_path / "survey.csv", data)
    (tmp_path / "release.toml").write_text(RULES)
    return tmp_path


def test_the_list_has_each_preset_and_its_title(capsys):
    assert main(["rules", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == presets.NAMES
    assert lines[1].endswith(presets.read(presets.NAMES[1])["about"]["title"])


@pytest.mark.parametrize("name", presets.NAMES)
def test_a_preset_is_shown_as_a_file_of_rules(folder, name, capsys):
    assert main(["rules", "show", name]) == 0
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert max(map(len, shown.splitlines())) <= 100
    (folder / "shown.toml").write_text(shown)
    # Nobody has filled it in: no column is a key.
    assert main(["run", "shown.toml", "--data", "survey.csv"]) == 2
    assert "classes: name columns: " in capsys.readouterr().err


@pytest.mark.parametrize("words", [["show"], ["show", "health-k4"], ["show", "../x"]])
def test_a_name_that_is_no_preset_is_refused(words, capsys):
    assert main(["rules", *words]) == 2
    assert "'health-k11', 'health-k3'" in capsys.readouterr().err


def test_run_follows_the_preset_of_its_option(folder, capsys):
    (folder / "release.toml").write_text(f'{RULES}form = "form.html"\n')
    assert main(["run", "release.toml", "--preset", "health-k3", "--quiet"]) == 0
    form = (folder / "form.html").read_text()
    assert f"<p>{SAID}" in form
    for text in presets.read("health-k3")["about"]["cannot"]:
        assert text in html.unescape(form)
    out = capsys.readouterr().out
    assert "no record has a frequency f below 3" in " ".join(out.split())
    assert SAID in out
    named = RULES.replace("format = 1", 'format = 1\npreset = "health-k3"')
    (folder / "named.toml").write_text(named)
    line = ["check", "--rules", "named.toml", "--original", "survey.csv", "--quiet"]
    assert main(line) == 0
    assert SAID in capsys.readouterr().out
    assert main([*line, "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any(note.startswith(SAID) for note in notes)
    assert "NAME" not in (folder / "safe.csv").read_text()


def test_another_preset_than_that_of_the_file_is_refused(folder, capsys):
    named = RULES.replace("format = 1", 'format = 1\npreset = "health-k5"')
    (folder / "named.toml").write_text(named)
    assert main(["run", "named.toml", "--preset", "health-k3"]) == 2
    assert (
        "named.toml:3:1: preset: --preset names health-k3: leave one out"
        in capsys.readouterr().err
    )
    assert not (folder / "safe.csv").exists()
    assert main(["run", "release.toml", "--preset", "health-k4"]) == 2
    assert "preset: need one of" in capsys.readouterr().err


def test_try_and_best_follow_it(folder, capsys):
    named = RULES.replace("format = 1", 'format = 1\npreset = "health-k5"')
    named += '[try.coarse.recodings]\nAGE = "from:50"\n'
    (folder / "named.toml").write_text(named)
    assert main(["try", "--rules", "named.toml", "--quiet"]) == 0
    assert "coarse" in capsys.readouterr().out
    line = ["best", "--rules", "named.toml", "--output", "best.toml", "--quiet"]
    assert main(line) == 0
    assert 'preset = "health-k5"' in (folder / "best.toml").read_text()
    assert main(["run", "best.toml", "--quiet"]) == 0


@pytest.mark.parametrize("pattern", ["[0-9]{2}", "[0-9"])
def test_values_on_the_command_line(folder, pattern, capsys):
    line = ["check", "survey.csv", "--keys", "SEX", "--values", f"AGE={pattern}"]
    found = main([*line, "--quiet"])
    shown = capsys.readouterr()
    if pattern == "[0-9":
        assert found == 2
        assert "values: '[0-9' is not a pattern" in shown.err
    else:
        assert found == 0
        assert "values of another form  AGE" in shown.out
    assert main([*line[:-1], "AGE=[0-5][0-9]", "--quiet"]) == 1
    row = next(x for x in capsys.readouterr().out.splitlines() if "AGE" in x)
    assert row.split()[-4:] == ["1", "10", "1", "FAILED"]


def test_the_list_needs_no_numpy_before_it_is_asked():
    code = "import sys; import riskcore.cli.presets; print('numpy' in sys.modules)"
    line = [sys.executable, "-c", code]
    found = subprocess.run(line, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "False"
