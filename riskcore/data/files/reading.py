"""How to read a file: options for what the file does not state itself."""

from __future__ import annotations

import codecs
import re
import shlex
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from riskcore.common import arguments
from riskcore.common.text_numbers import is_number
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.files.argus.metadata import Metadata

DELIMITERS = ",;\t|"  # looked for in the first line
_NO_DELIMITERS = '"\r\n\0'
_ANY_TEXT = "a,1\n"
# The usual encodings; where two fit as well, the first comes first.
_ENCODINGS = (
    "utf-8", "cp932", "cp949", "gbk", "cp950", "cp1251", "cp1253", "cp1252", "cp1250",
    "cp1254", "cp1256", "cp1255", "cp874", "cp1257",
)  # fmt: skip
# Letters as people write them: accents alone or by twos and threes between ASCII
# letters, and those of another script, which do not touch ASCII letters.
_LETTERS = re.compile(
    r"(?<![^\x00-\x7f])[À-ÖØ-öø-ɏ]{1,3}(?![^\x00-\x7f])"
    r"|(?<![A-Za-z])(?:(?=[^\W\d_])[Ͱ-힣])+(?![A-Za-z])"
)
_WORD = re.compile(r"[^\s,;|\"]*[^\x00-\x7f][^\s,;|\"]*")
_ENOUGH = 0.8  # share of such letters, compared with the best encoding
_MOST, _LONGEST = 4, 20  # encodings in a message, and letters of a word


class DoubtfulCodes(UserWarning):
    """Some codes are read literally but look like something else."""


class LastLineOpen(UserWarning):
    """The last line of a text file has no line end: the file may have been cut."""


@dataclass(frozen=True)
class Reading:
    """How to read a file of microdata: the same options for Python and the command.

    Parameters
    ----------
    encoding : str
        Of CSV files; a byte order mark is skipped.
    delimiter : str, optional
        Of CSV files, one ASCII letter. By default the tab for ``.tsv``, else the most
        frequent of comma, semicolon, tab and bar in the first line outside quotes.
    decimal : {".", ","}
        The decimal mark of weights that are text in CSV and Excel files. With a comma,
        ``1.050`` and ``1 050`` are thousands, if all numbers of a column are alike.
    missing_codes : sequence of str, or mapping of column names to them
        Codes that stand for a missing value, in all columns or by column; the column
        ``""`` of a mapping stands for all. An empty field of a CSV file is always
        missing, a quoted one (``""``) is empty text. A code for all columns does not
        apply to a quoted CSV field, as R writes them (``NA`` is missing, ``"NA"`` is
        Namibia); a code of a column does.
    user_missing : {"missing", "codes"}
        Whether codes that a file of SPSS declares as user-missing, and the extended
        missing values of Stata (``.a`` to ``.z``) and SAS, are missing or stay codes.
        With "codes" a column of numbers with extended missing values becomes text.
    metadata : path or Metadata, optional
        The metadata of a mu-Argus file; with them a file of any suffix is mu-Argus.
    sheet : str, optional
        The sheet of an Excel file, by default the first.
    weight_scale : float, optional
        What the sampling weights are multiplied by, such as 1e-6 if they have six
        implied decimals. Without it, weights that look so are refused; 1 says that they
        are right. For data in memory, too.
    household_file : path, optional
        The file of the households of a file of persons, such as EU-SILC's D beside R.
        The two are joined by the only column that both have, or by the id that
        ``"d.csv:HID"`` or ``"d.csv:RX030=DB030"`` (of persons, of households) names.
        They are assessed and protected as one table and written as two files.
    household_id : sequence of column names, optional
        Columns that name a household together, such as a region and a number in it. In
        place of the last one stands a number for each household, with which
        ``household=`` names it. For data in memory, too.

    Raises
    ------
    TypeError
        If the codes or the name of the sheet are not text, or the scale not a number.
    ValueError
        For an unknown encoding, a delimiter that is not one ASCII letter, another
        decimal mark, or a scale that is not above 0.

    Examples
    --------
    >>> reading = Reading(missing_codes={"MAR": ["9"], "": ["NA"]})
    >>> reading.codes(), reading.codes("MAR")
    (('NA',), ('9',))
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    decimal: str = "."
    missing_codes: Sequence[str] | Mapping[str, Sequence[str] | str] = ()
    metadata: Metadata | str | Path | None = None
    user_missing: str = "missing"
    sheet: str | None = None
    weight_scale: float | None = None
    household_file: str | Path | None = None
    household_id: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not _is_text_encoding(self.encoding):
            raise ValueError(
                f"encoding={self.encoding!r} is unknown; use utf-8, cp1252, latin-1, "
                "utf-16, or another encoding of text that Python knows"
            )
        mark = "," if self.delimiter is None else self.delimiter
        if not isinstance(mark, str):
            raise TypeError(f"delimiter={mark!r}: give one ASCII character as text")
        if len(mark) != 1 or not mark.isascii() or mark in _NO_DELIMITERS:
            raise ValueError(
                f"delimiter={mark!r}: give one ASCII character, not a quote or line end"
            )
        arguments.one_of("decimal", self.decimal, (".", ","))
        arguments.one_of("user_missing", self.user_missing, ("missing", "codes"))
        if not isinstance(self.sheet, str | None):
            raise TypeError(f"sheet={self.sheet!r}: give the name of a sheet as text")
        scale = self.weight_scale
        if scale is not None:
            arguments.number_in("weight_scale", scale, "(0, inf)", "a factor")
        if not isinstance(self.household_file, str | Path | None):
            raise TypeError("household_file: give a path; join data in memory before")
        for name, codes in self._by_column().items():
            for code in (name, *codes):
                if not isinstance(code, str):
                    raise TypeError(
                        f"missing_codes: {code!r} is not text; write {str(code)!r}"
                    )

    def _by_column(self) -> dict[str, tuple[str, ...]]:
        missing_codes = self.missing_codes
        if isinstance(missing_codes, str):
            raise TypeError(
                f"missing_codes is a list of codes: write [{missing_codes!r}]"
            )
        if not isinstance(missing_codes, Mapping):
            missing_codes = {"": missing_codes}
        for codes in missing_codes.values():
            if not isinstance(codes, Iterable):
                raise TypeError(f"missing_codes: {codes!r} is not a list of codes")
        return {
            name: (codes,) if isinstance(codes, str) else tuple(codes)
            for name, codes in missing_codes.items()
        }

    def codes(self, column: str = "") -> tuple[str, ...]:
        """Return the missing codes of one column alone, or the codes for all columns.

        Parameters
        ----------
        column : str, optional
            Its name; "" stands for all columns.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> how = Reading(missing_codes={"": ["NA"], "MAR": ["9"]})
        >>> how.codes(), how.codes("MAR")
        (('NA',), ('9',))
        """
        return self._by_column().get(column, ())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have missing codes of their own."""
        return tuple(name for name in self._by_column() if name)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain data, which JSON holds without loss.

        Returns
        -------
        dict

        Examples
        --------
        >>> Reading(delimiter=";").to_dict()["delimiter"]
        ';'
        """
        metadata = self.metadata
        if isinstance(metadata, Metadata):
            metadata = metadata.path
        return {
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "decimal": self.decimal,
            "missing_codes": {
                name: list(codes) for name, codes in self._by_column().items() if codes
            },
            "metadata": None if metadata is None else str(metadata),
            "user_missing": self.user_missing,
            "sheet": self.sheet,
            "weight_scale": self.weight_scale,
            "household_file": self.household_file and str(self.household_file),
            "household_id": self.household_id and [*self.household_id],
        }

    def _with_files(self, move: Callable[[Path], Path]) -> Reading:
        """Return the reading with other paths of the files that it names."""
        metadata, household_file = self.metadata, self.household_file
        if isinstance(metadata, Metadata):
            metadata = metadata.path
        if metadata is not None:
            metadata = move(Path(metadata))
        if household_file is not None:
            file, ids = file_and_ids(household_file)
            household_file = f"{move(file)}:{ids}" if ids else move(file)
        return replace(self, metadata=metadata, household_file=household_file)


def with_household(
    reading: Reading | None, household: Any
) -> tuple[Reading | None, Any]:
    """Return a reading and the household column; of several names it is the last."""
    if not isinstance(household, list):
        return reading, household
    ids = arguments.names("household", household)
    return replace(reading or Reading(), household_id=ids), ids[-1]


def file_and_ids(words: str | Path) -> tuple[Path, str]:
    """Return the file and the ids of ``d.csv:RX030=DB030``."""
    file, _, ids = str(words).rpartition(":")
    if len(file) < 2 or Path(words).exists():  # C:\d.csv
        return Path(words), ""
    return Path(file), ids


def beside_persons(path: Path) -> Path:
    """Return the path of the safe file of households beside that of persons."""
    packed = path.suffix.lower() == ".gz"
    ending = "".join(path.suffixes[-2:] if packed else path.suffixes[-1:])
    return path.with_name(f"{path.name.removesuffix(ending)}-households{ending}")


def numbers_among(codes: Iterable[str]) -> list[float]:
    """Return the codes that are numbers, perhaps with blanks around them."""
    return [float(code) for code in codes if is_number(code.strip(" "))]


def declared(name: Hashable, codes: Iterable[str]) -> str:
    """Return how to declare codes of a column as missing."""
    words = " ".join(shlex.quote(f"{name}={code}") for code in codes)
    plain = {str(name): [*codes]}
    return f"--na {words} (in Python: missing_codes={plain} of Reading, or None)"


def warn_of_idle_codes(
    path: Path, name: str, codes: Sequence[str], others: Sequence[str] = ()
) -> None:
    """Warn that a column lacks missing codes, or has ``others`` of the same number."""
    named = ", ".join(map(repr, codes))
    said = f"the missing codes of {name}, {named}, do not occur in it"
    if others:
        said = (
            f"{name} has {', '.join(map(repr, others[:3]))}, but codes {named}: "
            "name each code as it stands there"
        )
    warn(f"{path}: {said}", DoubtfulCodes)


def warn_of_open_end(path: Path, records: int) -> None:
    """Warn that the last line of a text file has no line end."""
    warn(
        f"{path}: {counted(records, 'record')}, and no line end after the last one. "
        "If the file was cut there, part of that record and all later ones are "
        "missing: compare the number of records with the source",
        LastLineOpen,
    )


def _is_text_encoding(name: Any) -> bool:
    """Tell whether a file can have an encoding; not so rot13, hex, zlib or idna."""
    try:
        codecs.lookup(name)
        packed = _ANY_TEXT.encode(name, "surrogateescape")
        return packed.decode(name, "surrogateescape") == _ANY_TEXT
    except (LookupError, TypeError, ValueError):  # ValueError: of idna, or a zero byte
        return False


def encoding_hint(raw: bytes) -> str:
    """Return likely encodings of text for a message, with a word as each reads it."""
    lines = [line for line in raw.splitlines(keepends=True) if not line.isascii()]
    shares: dict[str, tuple[float, str]] = {}  # by the text that is read
    for name in _ENCODINGS:
        try:  # the last letter may be cut
            text = codecs.getincrementaldecoder(name)().decode(b"".join(lines))
        except UnicodeDecodeError:
            continue
        foreign = sum(not letter.isascii() for letter in text)
        if foreign:
            likely = len("".join(_LETTERS.findall(text)))
            shares.setdefault(text, (likely / foreign, name))
    least = _ENOUGH * max((share for share, _ in shares.values()), default=0)
    ranked = sorted(shares.items(), key=lambda pair: -round(pair[1][0], 1))
    texts = [text for text, (share, _) in ranked if share >= least][:_MOST]
    # The word that is read in the most ways.
    rows = zip(*map(_WORD.findall, texts), strict=False)
    row = max(rows, key=lambda words: len(set(words)), default=())
    return "".join(
        f"; encoding={shares[text][1]!r} reads {word[:_LONGEST]!r}"
        for text, word in zip(texts, row, strict=False)
    )
