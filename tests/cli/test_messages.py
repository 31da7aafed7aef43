"""Messages that are written for Python, as the command shows them."""

import pytest

from riskcore.cli.messages import in_options


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("threshold=1.5: a risk", "--threshold 1.5: a risk"),
        ("missing='category': use missing='argus'",
         "--missing category: use --missing argus"),
        ("allow_unsafe=True would do so", "--allow-unsafe would do so"),
        ("give either rate= or unsafe=", "give either --rate or --unsafe"),
        ("give a limit (k, max_risk, l or t); a", "give a limit (--k, --max-risk, "
         "--l or --t); a"),
        ("sensitive and l or t: give both", "--sensitive and --l or --t: give both"),
        ("roles={'a': 'b', 'c': 'd'}: no", "--role {'a': 'b', 'c': 'd'}: no"),
        ("recodings of 'AGE': no", "--recode of 'AGE': no"),
        ("household_keys need", "--household-keys need"),
        ("related='derived': needs", "--related derived: needs"),
        ("household='HH': no rule", "--household HH: no rule"),
        ("codes by riskcore.Reading(missing_codes=...)", "codes by --na"),
        ("given by riskcore.Reading(delimiter=...)?", "given by --delimiter?"),
        ("blanks between: a b (in Python: ['a', 'b']);", "blanks between: a b;"),
        # Columns, words, files, and members of a record
        ("settings.household_keys: need", "settings.household_keys: need"),
        ("treat weight=round:2: no", "--treat weight=round:2: no"),
        ("treat a+weight=round:2: no", "--treat a+weight=round:2: no"),
        ("'weight=4' is not a number", "'weight=4' is not a number"),
        ("no column 'max_risk'; did you mean", "no column 'max_risk'; did you mean"),
        ("give a threshold or a rate", "give a threshold or a rate"),
        ("my-rate=4.csv: no such file", "my-rate=4.csv: no such file"),
        ("--max-risk and keys", "--max-risk and keys"),
    ],
)  # fmt: skip
def test_names_of_settings_become_options(message, said):
    assert in_options(message) == said
