"""The cluster and the stratum of each record: what is read, and what is refused."""

import numpy as np
import pytest

from riskcore.data.sample_design import SampleDesign

DATA = {
    "psu": ["b", "a", "b", "c", "a"],
    "region": [1, 1, 1, 2, 1],
    "urban": ["y", "n", "y", "n", "n"],
}


def same_partition(codes, values):
    """Return whether codes are equal exactly where values are."""
    return len(set(zip(codes.tolist(), values, strict=True))) == len(set(values))


def test_columns_become_numbers():
    design = SampleDesign.of(DATA, "psu", ["region", "urban"])
    assert same_partition(design.cluster, DATA["psu"])
    assert design.stratum.tolist() == [1, 0, 1, 2, 0]
    assert design.name == "psu"
    some = design.some(np.array([0, 3]))
    assert some.stratum.tolist() == [1, 2]
    assert some.cluster[0] != some.cluster[1]
    assert SampleDesign.of(DATA, "psu").stratum is None


def test_arrays_have_no_name():
    design = SampleDesign.of_arrays(DATA["psu"], DATA["region"], 5)
    assert design.name is None
    assert same_partition(design.cluster, DATA["psu"])
    assert design.stratum.tolist() == [0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("columns", "strata", "message"),
    [
        (
            {"psu": ["a", None, "b", None, "a"]},
            None,
            "cluster 'psu': missing in 2 of 5",
        ),
        ({"psu": [1.0, np.nan, 2.0, 1.0, 1.0]}, None, "cluster 'psu': missing in 1 of"),
        ({"psu": [7] * 5}, None, "cluster 'psu': all records are in one cluster"),
        (
            {"region": [1, None, 1, 2, 1]},
            ["region"],
            "strata 'region': missing in 1 of",
        ),
        ({"region": [1, 1, 2, 2, 1]}, ["region"], "strata: 1 of 3 clusters of 'psu'"),
        ({"urban": list("ynynx")}, ["region", "urban"], "strata: 1 of 3 clusters"),
    ],
)
def test_what_is_refused(columns, strata, message):
    with pytest.raises(ValueError, match=message):
        SampleDesign.of({**DATA, **columns}, "psu", strata)


def test_arrays_of_another_length_and_names_that_are_columns_are_refused():
    with pytest.raises(ValueError, match=r"cluster: shape \(5,\), but 4 records"):
        SampleDesign.of_arrays(DATA["psu"], None, 4)
    with pytest.raises(ValueError, match=r"strata: shape \(2,\), but 5 records"):
        SampleDesign.of_arrays(DATA["psu"], [1, 2], 5)
    with pytest.raises(TypeError, match=r"strata is a list of column names"):
        SampleDesign.of(DATA, "psu", "region")
