"""Types of the frames that results give back, by the data they were made from."""

import os
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, Protocol, overload

import narwhals as nw
import polars
from narwhals.typing import IntoDataFrameT, IntoLazyFrameT
from numpy.typing import NDArray
from pyarrow.lib import Table
from typing_extensions import TypeVar

DataT = TypeVar("DataT")
DataT_co = TypeVar("DataT_co", covariant=True, default=Any)
DatasetT = TypeVar("DatasetT", bound=_Dataset)

class OfData(Generic[DataT_co]): ...

# A class of a package that is not installed is `Any` and would match all data, so that
# data which become another frame are told by their attributes.

class _Dataset(Protocol):
    """A Dataset of xarray, which is a mapping, too."""

    @property
    def data_vars(self) -> Any: ...

class _Fragments(Protocol):
    """A dataset of pyarrow."""

    def get_fragments(self) -> Any: ...

class _Partitions(Protocol):
    """A data frame of dask; the ``values`` of a mapping are a method."""

    @property
    def values(self) -> NDArray[Any]: ...
    def get_partition(self, n: int) -> Any: ...

class frame:  # noqa: N801
    """A property that holds a frame made from the data of a result."""

    def __init__(self, make: Callable[[Any], Any]) -> None: ...
    @overload
    def __get__(self, result: None, owner: Any) -> frame: ...
    @overload
    def __get__(
        self, result: OfData[nw.DataFrame[IntoDataFrameT]], owner: Any
    ) -> IntoDataFrameT: ...
    @overload
    def __get__(
        self, result: OfData[nw.LazyFrame[IntoLazyFrameT]], owner: Any
    ) -> IntoLazyFrameT: ...
    @overload
    def __get__(self, result: OfData[_Partitions], owner: Any) -> polars.LazyFrame: ...
    @overload
    def __get__(self, result: OfData[DatasetT], owner: Any) -> DatasetT: ...
    @overload
    def __get__(
        self, result: OfData[Mapping[Any, Any]], owner: Any
    ) -> dict[Hashable, Any]: ...
    @overload
    def __get__(self, result: OfData[str | os.PathLike[str]], owner: Any) -> Table: ...
    @overload
    def __get__(self, result: OfData[_Fragments], owner: Any) -> polars.LazyFrame: ...
    @overload
    def __get__(self, result: OfData[DataT], owner: Any) -> DataT: ...

cached_frame = frame
