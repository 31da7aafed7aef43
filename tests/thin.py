"""How the default run is kept short: fewer examples, and cases that are slow."""

import pytest
from hypothesis import settings


def examples(number, thorough=100):
    """Return settings of few examples, of ``thorough`` ones in other profiles.

    So the larger number is tried by ``pytest --hypothesis-profile=search``.
    """
    same = settings.default == settings.get_profile("same")
    return settings(max_examples=number if same else thorough)


def cases(all_of_them, default):
    """Return the cases as parameters: slow are those for which default is false."""
    return [
        pytest.param(*case, marks=[] if default(*case) else [pytest.mark.slow])
        for case in all_of_them
    ]
