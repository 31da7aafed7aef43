"""Released files of SPSS and Stata, whose recoded keys are codes with labels."""

import numpy as np
import pytest

from riskcore import check, protect
from riskcore.data.files import formats
from tests.accepted import ANY_LEAK

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.showing.SuppressedValueShows"
)
KEYS = ["a", "b", "c"]


@pytest.mark.parametrize("suffix", ["dta", "sav"])
@pytest.mark.parametrize("rule", ["map:1=1,2=1,7=6", "map:1=low,2=low,7=high"])
def test_a_key_recoded_by_a_mapping_is_found_in_the_original(
    tmp_path, monkeypatch, suffix, rule
):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(3)
    data = {k: np.minimum(random.geometric(0.3, 300), 7) for k in KEYS}
    files = [f"{name}.{suffix}" for name in ("survey", "research", "public")]
    survey, research, public = files
    formats.write(survey, data)
    for path, how in ((research, {}), (public, {"recodings": {"c": rule}})):
        protect(survey, KEYS, k=3, **how, **ANY_LEAK).write(path, shuffle=True)
    record = f"{public}.private.json"
    alone = check(public, record=record, original=survey)
    assert alone.passed
    assert alone.rules[0].found >= 3
    (together,) = check(
        public, record=record, original=survey, earlier=research
    ).together
    assert "c before recoding" in together.keys
    assert together.joined > 100
    (again,) = check(public, record=record, original=survey, earlier=public).together
    assert again.keys == tuple(KEYS)
