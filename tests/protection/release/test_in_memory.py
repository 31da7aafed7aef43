import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

import riskcore
from riskcore.protection.records.in_memory import IndexIsNew
from tests.accepted import ANY_LEAK


def survey(**more):
    rng = np.random.default_rng(1)
    n = 200
    return {
        "sex": rng.integers(0, 2, n),
        "age": rng.integers(0, 5, n),
        "hh": rng.permutation(np.repeat(np.arange(900, 1000), 2)),
        **more,
    }


def protected(data, **settings):
    settings = {"household": "hh", "k": 2, **ANY_LEAK, **settings}
    return riskcore.protect(data, ["sex", "age"], **settings)


def test_a_new_index_is_said():
    frame = pd.DataFrame(survey())
    assert protected(frame).data.index.equals(frame.index)
    with pytest.warns(IndexIsNew, match="make it a column"):
        found = protected(frame.set_index(frame.index[::-1])).data
    assert found.index.equals(frame.index)


@pytest.mark.filterwarnings("ignore::riskcore.protection.records.in_memory.IndexIsNew")
def test_an_index_of_persons_stays_behind():
    names = [f"person {i}" for i in range(200)]
    frame = pd.DataFrame(survey(), index=pd.Index(names, name="name"))
    frame.attrs["persons"] = names
    series = {name: frame[name] for name in frame}
    for data in (frame, series):
        found = protected(data).data
        columns = [found[name] for name in found]
        assert not any("person" in str(column) for column in columns)
        assert all(column.index.equals(pd.RangeIndex(200)) for column in columns)
        assert all(not column.attrs for column in columns)
    assert frame.index.tolist() == frame.attrs["persons"] == names
    many = frame.set_index("hh", append=True).assign(hh=frame["hh"].to_numpy())
    assert protected(many).data.index.equals(pd.RangeIndex(200))


def test_metadata_stay_behind_if_nothing_is_blanked():
    table = pa.table(survey()).replace_schema_metadata({"persons": "Ann, Bob"})
    result = protected(table, k=None, threshold=1.0)
    assert not any(result.suppressed.values())
    assert result.data.schema.metadata is None
    assert table.schema.metadata


@pytest.mark.parametrize("holder", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("kind", [int, float, str])
def test_households_have_new_ids(holder, kind):
    data = survey()
    old = [kind(id) for id in data["hh"].tolist()]
    found = list(protected(holder({**data, "hh": old})).data["hh"])
    new = [getattr(id, "as_py", lambda id=id: id)() for id in found]
    place = {id: i + 1 for i, id in enumerate(dict.fromkeys(old))}
    assert new == [kind(place[id]) for id in old]
    assert {type(id) for id in new} == {kind}


def test_households_that_are_keys_or_identifiers_get_no_new_ids():
    data = survey()
    result = riskcore.protect(data, ["sex", "hh"], threshold=1.0)
    assert result.data["hh"].tolist() == data["hh"].tolist()
    result = protected(data, household=None, roles={"hh": "identifier"})
    assert "hh" not in result.data


def test_values_under_a_mask_stay_behind():
    hidden = np.ma.MaskedArray(np.arange(200) + 5, mask=np.arange(200) > 9)
    found = protected(survey(c=hidden)).data["c"]
    assert found.mask.tolist() == hidden.mask.tolist()
    assert np.ma.getdata(found).tolist() == [*range(5, 15), *[0] * 190]
    assert np.ma.getdata(hidden)[10] == 15


@pytest.mark.parametrize("ordered", [False, True])
def test_unused_categories_stay_behind(tmp_path, ordered):
    names = [f"person {i}" for i in range(200)]
    kind = pd.CategoricalDtype(["b", *names, "a"], ordered=ordered)
    column = pd.Series(["a", "b"] * 100, dtype=kind)
    for data in (pd.DataFrame(survey(c=column)), survey(c=column)):
        result = protected(data)
        found = result.data["c"]
        assert found.tolist() == column.tolist()
        assert found.cat.categories.tolist() == ["b", "a"]
        assert len(column.cat.categories) == 202
        result.write(tmp_path / "c.arrow", overwrite=True)
        assert b"person" not in (tmp_path / "c.arrow").read_bytes()


def test_unused_values_of_an_enum_are_not_written(tmp_path):
    names = [f"person {i}" for i in range(200)]
    column = pl.Series(["a", "b"] * 100, dtype=pl.Enum(["b", *names, "a"]))
    protected(pl.DataFrame(survey(c=column))).write(tmp_path / "c.feather")
    read = pa.feather.read_table(tmp_path / "c.feather")["c"]
    assert read.to_pylist() == column.to_list()
    assert b"person" not in (tmp_path / "c.feather").read_bytes()
