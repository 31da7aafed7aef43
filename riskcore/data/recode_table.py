"""Recode a table, by recodings or by their words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, MutableMapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from riskcore.data.columns import with_columns
from riskcore.data.frame_types import DataT
from riskcore.data.recode import Recoding, recoded_columns
from riskcore.data.recoding_words import recodings_of

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.typing import IntoDataFrameT

AnyRule: TypeAlias = Recoding | str | PathLike[str]


@overload
def recode(
    data: nw.DataFrame[IntoDataFrameT], recodings: Mapping[Any, AnyRule]
) -> IntoDataFrameT: ...
@overload
def recode(
    data: MutableMapping[Any, Any], recodings: Mapping[Any, AnyRule]
) -> dict[Hashable, Any]: ...
@overload
def recode(data: DataT, recodings: Mapping[Any, AnyRule]) -> DataT: ...
def recode(data: Any, recodings: Mapping[Any, AnyRule]) -> Any:
    """Recode variables of a file, each from its original codes.

    Parameters
    ----------
    data : frame or mapping
        Any eager frame that narwhals takes (pandas, polars, pyarrow, modin, ...), a
        narwhals frame, or a mapping of column names to arrays.
    recodings : mapping of column names to Recoding, rule or path
        Rules in words and files are those of ``--recode``, such as "map:3=2,*=9".

    Returns
    -------
    frame or dict
        The data with these columns replaced: a frame of the same type, or a dict with
        columns of the same types. Text stays text, whatever the new codes; numbers
        stay numbers if all new codes are numbers (of words and files: are written as
        numbers), otherwise all become text. Decimal numbers stay decimal. Categories
        become text. NumPy text and integers are masked if values are missing; floats
        stay floats.

    Warns
    -----
    DoubtfulRules
        If rules fit no code of the data, unless other codes are refused, or several
        fit one; the message counts them.

    Raises
    ------
    KeyError
        If a variable is not a column.
    TypeError
        If the data are not a table, a rule is not a `Recoding`, or the codes of a
        variable are neither text nor numbers, or not of the kind its rules need.
    ValueError
        As `Recoding.apply`, naming the variable; if there are no records, or no type
        holds all numbers of a variable without changing one.

    Examples
    --------
    >>> data = {"age": [31, 47, None, 93], "sex": ["f", "m", "f", "m"]}
    >>> recode(data, {"age": Recoding.intervals([40, 65], [1, 2, 3])})
    {'age': [1, 2, None, 3], 'sex': ['f', 'm', 'f', 'm']}
    """
    return with_columns(data, recoded_columns(data, recodings_of(recodings)))
