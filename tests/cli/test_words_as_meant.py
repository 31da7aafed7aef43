"""What people type, taken as they mean it."""

import pytest

import riskcore
from riskcore import cli
from riskcore.data.files.reading import DoubtfulCodes


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 3},{i % 2},{i // 2}\n" for i in range(12))
    (tmp_path / "a.csv").write_text("A,B,H\n" + rows)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("help assess", "usage: riskcore assess FILE"),
        ("help protect goals", "--household-threshold"),
        ("help", "error-table"),
    ],
)
def test_help_of_a_command(words, told, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(words.split())
    assert stopped.value.code == 0
    assert told in capsys.readouterr().out


def test_a_mistyped_command_gets_the_nearest(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["asess", "a.csv"])
    assert stopped.value.code == 2
    assert "no command 'asess'. Did you mean assess" in capsys.readouterr().err


def test_a_percent_sign_apart(survey, capsys):
    told = []
    for words in ("60 % 30 %", "60% 30%"):
        asked = f"assess a.csv --keys A B --threshold {words} --top 0 --quiet"
        assert cli.main(asked.split()) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


def test_the_rate_of_households_alone(survey, capsys):
    words = "assess a.csv --keys A B --top 0 --quiet --household-rate 20%"
    asked = words.split()
    assert cli.main([*asked, "--household", "H"]) == 0
    assert capsys.readouterr().out.count("For a re-identification rate of 20 %") == 1
    assert cli.main(asked) == 2
    assert "--household-rate needs --household" in capsys.readouterr().err


def test_files_of_r_alone(survey, tmp_path, capsys):
    (tmp_path / "a.rds").write_bytes(b"x")
    assert cli.main(["assess", "a.rds", "--keys", "A"]) == 2
    assert "haven::write_sav" in capsys.readouterr().err


def test_a_stratum_below_k_is_named(survey, tmp_path, capsys):
    (tmp_path / "b.csv").write_text("A,ST\n" + "1,big\n" * 9 + "1,small\n" * 2)
    asked = "protect b.csv --keys A --strata ST --k 3 --quiet"
    assert cli.main([*asked.split(), "--role", "*=harmless:test"]) == 1
    streams = capsys.readouterr()
    assert "fewer than --k 3 records, such as ST=small (2)" in streams.err


def test_a_role_close_to_a_wrong_argument_is_named():
    with pytest.raises(TypeError, match="did you mean 'weight'"):
        riskcore.assess({"A": [1, 2]}, ["A"], weights="W")


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ("Ana Juan Pedro", "identifier"),
        ("male female", "key"),
        ("Ohio Texas Utah", "key"),
        ("nurse farmer Teacher", "key"),
        ("yes no", None),
    ],
)
def test_values_tell_a_role(values, role):
    column = riskcore.describe({"q17": values.split() * 30}).columns[0]
    assert column.proposed.role == role


def test_a_star_may_be_missing():
    with pytest.warns(DoubtfulCodes, match=r"'\*' \(1 record\)"):
        riskcore.assess({"A": ["a", "a", "*"]}, ["A"])
