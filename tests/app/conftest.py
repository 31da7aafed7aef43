"""A small survey, a tiny application that is served, and settings for each test."""

from contextlib import ExitStack

import pytest

from riskcore.app.start import open_workbench
from riskcore.simulate import microdata
from tests.app.served import LONG, SECRET, Served, tiny


@pytest.fixture(autouse=True)
def settings_folder(tmp_path, monkeypatch):
    """Keep sessions and keys apart from those of the user, and wait for no disk."""
    monkeypatch.setattr("os.fsync", lambda _: None)
    folder = tmp_path / "settings"
    monkeypatch.setenv("RISKCORE_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def patient_pages(monkeypatch):
    """Let pages wait for what is being prepared: no test depends on time."""
    monkeypatch.setattr("riskcore.app.workbench._MOMENT", 60.0)


@pytest.fixture(autouse=True)
def known_secrets_of_rules(known_secrets, monkeypatch):
    """Let the noise of rules be the same in every run."""
    monkeypatch.setattr("riskcore.app.workbench.new_secret", known_secrets)


@pytest.fixture
def survey(tmp_path):
    """Return the path of a survey of some 400 persons."""
    import numpy as np
    import pandas as pd

    path = tmp_path / "survey.csv"
    data = microdata(400, rng=np.random.default_rng(7))
    pd.DataFrame(data).to_csv(path, index=False)
    return path


@pytest.fixture
def opened(survey):
    """Open workbenches, on the survey as a rule, that are closed after the test."""
    with ExitStack() as stack:

        def begin(path=survey, *how, roles=None, new=False, **rules):
            found = open_workbench(path, *how, new=new)
            stack.callback(found.close)
            if roles is not None:
                found.set_roles(roles, "roles")
            if rules:
                found.change("rules", **rules)
            return found

        yield begin


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of static files, beside a file that is not served."""
    top = tmp_path_factory.mktemp("served")
    (top / "secret.txt").write_text(SECRET)
    (top / "static").mkdir()
    (top / "static" / "app.js").write_text("1;")
    return top / "static"


@pytest.fixture
def start(folder):
    """Serve the tiny application, with options, until the test ends."""
    served = []

    def begin(**options):
        served.append(Served(tiny(folder), **options))
        return served[-1]

    yield begin
    for each in served:
        each.clock.now += 1e6
    for each in served:
        if each.returned.empty():
            each.returned.put(each.returned.get(timeout=LONG))


@pytest.fixture(scope="module")
def app(folder):
    """Serve the tiny application to all tests of a module."""
    served = Served(tiny(folder))
    yield served
    assert served.end() == 0
