"""A small survey, and settings of its own for each test."""

import pytest

from riskcore.simulate import microdata


@pytest.fixture(autouse=True)
def settings_folder(tmp_path, monkeypatch):
    """Keep sessions and keys of tests apart from those of the user."""
    folder = tmp_path / "settings"
    monkeypatch.setenv("RISKCORE_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture
def survey(tmp_path):
    """Return the path of a survey of some 400 persons."""
    import numpy as np
    import pandas as pd

    path = tmp_path / "survey.csv"
    data = microdata(400, rng=np.random.default_rng(7))
    pd.DataFrame(data).to_csv(path, index=False)
    return path
