"""Write safe files of mu-Argus: data in the format of their source, and their ``.rds``.

Only declared variables are written, because the rest of the source's records has not
been assessed. Unchanged values are written character by character as in the source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import IO, Any

import numpy as np

from riskcore.common.missing_column import no_such_column
from riskcore.common.progress import Parts
from riskcore.data.files.argus import reader
from riskcore.data.files.argus.encoding import (
    Array,
    characters_in,
    decoded,
    encodes,
    encoding_of,
)
from riskcore.data.files.argus.metadata import Metadata, Variable, line_tokens, unquoted
from riskcore.data.files.base_format import Recoded

_BLANK = ord(" ")
# Characters that end a line or a file.
_CONTROLS = np.array([*map(ord, "\r\n\x1a")], np.uint32)


def write_data(
    file: IO[bytes],
    columns: Mapping[str, Any],
    source: Path,
    metadata: Metadata,
    recodings: Mapping[str, Recoded] | None = None,
    progress: Parts | None = None,
    renumbered: Collection[str] = (),
) -> Metadata:
    r"""Write a data file in the layout, encoding and line ends of its source.

    In fixed format the fields follow each other without gaps. A variable keeps its
    width unless longer text needs more; a recoded variable gets the width of its
    longest code, missing codes included, and shorter codes are padded on the left.

    A missing value keeps its missing code, the first or the second. If the variable is
    recoded with new missing codes, it gets the corresponding one, or the only one. A
    value that was not missing in the source gets the first missing code; if there is
    none, 99..9 or XX..X of full width, or 99..9 one wider, whichever is first not to be
    a code of the variable.
    """
    variables_by_name = {variable.name: variable for variable in metadata.variables}
    lacking = [name for name in columns if name not in variables_by_name]
    if lacking:
        raise no_such_column(lacking, metadata.names, source)
    variables = [variables_by_name[name] for name in metadata.names if name in columns]
    if not variables:
        raise ValueError("no columns to write")
    fields = [
        _Field(
            variable,
            columns[variable.name],
            (recodings or {}).get(variable.name),
            renumbered=variable.name in renumbered,
        )
        for variable in variables
    ]
    lengths = {field.variable.name: field.text.size for field in fields}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns of different length: {lengths}")
    encoder = _Encoder(source)
    for characters in _records(source, metadata, fields, progress):
        encoder.write(file, characters, fields)
    encoder.refuse_ambiguous()
    return replace(metadata, variables=tuple(_declared(fields, metadata)))


def _records(
    source: Path, metadata: Metadata, fields: list[_Field], progress: Parts | None
) -> Iterator[Array]:
    """Yield the characters of the names, if they are in front, and of the records."""
    line_end, separator = _line_end(source), metadata.separator
    variables = [field.variable for field in fields]
    if metadata.names_in_front and separator is not None:
        names = [np.array([variable.name]) for variable in variables]
        yield _free(names, separator, line_end)
    count, begin = fields[0].text.size, 0
    characters = characters_in(source)
    parts = reader.fields_of(source, characters, metadata, variables, progress)
    for lines, raw in parts:
        if begin + lines.size > count:
            break
        pairs = list(zip(fields, raw, strict=True))
        if separator is None:
            yield _fixed([field.fixed(text, begin) for field, text in pairs], line_end)
        else:
            texts = [field.free(text, begin) for field, text in pairs]
            yield _free(texts, separator, line_end)
        begin += lines.size
    if begin != count:
        raise ValueError(
            f"{source}: does not have the {count} records of the columns given"
        )


def write_metadata(file: IO[bytes], metadata: Metadata) -> None:
    """Write the metadata of a safe file (``.rds``).

    Identification levels and priorities of suppression are omitted, as by mu-Argus. A
    codelist is written by its bare name: it is found next to the file, which is
    published, and folders may show whose it is.
    """
    lines = []
    if metadata.separator is not None:
        lines.append(f'<SEPARATOR> "{metadata.separator}"')
    if metadata.names_in_front:
        lines.append("<NAMESINFRONT>")
    for variable in metadata.variables:
        begin = () if variable.start is None else (str(variable.start + 1),)
        missing = map(_token, variable.missing)
        lines.append(
            " ".join([_token(variable.name), *begin, str(variable.width), *missing])
        )
        lines += [f"  {tag}" for tag in _tags(variable)]
    line_end, encoding = "\n", "utf-8"
    if metadata.path.exists():
        line_end, encoding = _line_end(metadata.path), encoding_of(metadata.path)
    file.write("".join(line + line_end for line in lines).encode(encoding))


def _tags(variable: Variable) -> Iterator[str]:
    if variable.recodable:
        yield "<RECODABLE>"
    if variable.numeric:
        yield "<NUMERIC>"
    if variable.decimals:
        yield f"<DECIMALS> {variable.decimals}"
    if variable.weight:
        yield "<WEIGHT>"
    if variable.household_id:
        yield "<HOUSE_ID>"
    if variable.household:
        yield "<HOUSEHOLD>"
    if variable.related is not None:
        yield f"<RELATED> {_token(variable.related)}"
    if variable.truncable:
        yield "<TRUNCABLE>"
    if variable.codelist is not None:
        yield f'<CODELIST> "{variable.codelist.name}"'


def _token(text: str) -> str:
    """Return a name or code as a token that reads back, in quotes if necessary."""
    bare = not text.startswith("<") and "," not in text
    for token in [text] * bare + [f'"{text}"']:
        if [*map(unquoted, line_tokens(f"_ {token}"))] == ["_", text]:
            return token
    raise ValueError(f"{text!r} cannot be written in metadata of mu-Argus")


def _line_end(path: Path) -> str:
    with path.open("rb") as file:
        return "\r\n" if file.readline(1 << 20).endswith(b"\r\n") else "\n"


class _Field:
    """One variable to be written: its width, its missing codes, its text."""

    def __init__(
        self,
        variable: Variable,
        values: Any,
        recoding: Recoded | None,
        *,
        renumbered: bool = False,
    ) -> None:
        self.variable = variable
        self.recoding = recoding
        self.renumbered = renumbered
        text, self.absent = _text(variable.name, values)
        missing_codes = recoding.missing_codes if recoding else ()
        if len(missing_codes) > 2:
            raise ValueError(f"{variable.name}: more than two missing codes")
        self.missing = missing_codes or variable.missing
        # Codes that are missing in the source, and what is written for them.
        self.renamed = {"": missing_codes[0] if missing_codes else ""} | {
            code: missing_codes[min(i, len(missing_codes) - 1)]
            if missing_codes
            else code
            for i, code in enumerate(variable.missing)
        }
        lengths = np.strings.str_len(text[~self.absent])
        self.width = max(1, int(lengths.max(initial=0)), *map(len, self.missing))
        if recoding is None and not renumbered:
            self.width = max(self.width, variable.width)
        # The code of values that become missing, and whether any does.
        self.new_code = self.missing[0] if self.missing else ""
        if self.absent.any() and not self.missing:
            self.new_code = self._free_code(text)
            self.width = max(self.width, len(self.new_code))
        self.new_code_used = False
        self.text = text.astype(f"U{max(self.width, text.itemsize // 4)}")

    def _free_code(self, text: Array) -> str:
        """Return a code that is not a value of the variable."""
        for mark in ("9" * self.width, "X" * self.width):
            if not (text[~self.absent] == mark).any():
                return mark
        return "9" * (self.width + 1)

    def fixed(self, raw: Array, begin: int) -> Array:
        """Return the characters of the field in records from ``begin`` on."""
        same, text = self._compared(raw, begin)
        unlike = self.renumbered or self.recoding is not None
        kept = not unlike and self.width == self.variable.width
        if not (kept and same.all()):
            padded = np.strings.rjust(text, self.width).astype(f"U{self.width}")
            raw = np.where(same, raw, padded) if kept else padded
        characters = reader.characters_of(raw)
        characters[characters == 0] = _BLANK  # after the end of a record of the source
        return characters

    def free(self, raw: Array, begin: int) -> Array:
        """Return the text of the field in some records, see `fixed`."""
        same, text = self._compared(raw, begin)
        if self.renumbered:
            return text
        return raw if same.all() else np.where(same, raw, text)

    def _compared(self, raw: Array, begin: int) -> tuple[Array, Array]:
        """Return where the source has the same text, and the text to write."""
        source = np.strings.strip(raw, " ")
        records = slice(begin, begin + raw.size)
        text, absent = self.text[records].copy(), self.absent[records]
        was_valid = np.ones(raw.size, bool)
        for code, new in self.renamed.items():
            rows = source == code
            was_valid &= ~rows
            text[rows & absent] = new
        if (absent & was_valid).any():
            text[absent & was_valid] = self.new_code
            self.new_code_used = True
        same = text == source
        self._refuse_unreadable(text[~absent & ~(same & was_valid)])
        return same, text

    def _refuse_unreadable(self, text: Array) -> None:
        """Refuse values that would not read back as themselves."""
        if not any(mask.any() for mask in self._unreadable(text).values()):
            return
        text = self.text[~self.absent]
        for what, mask in self._unreadable(text).items():
            if mask.any():
                raise ValueError(
                    f"{self.variable.name}: {mask.sum()} values {what}, "
                    f"first {str(text[mask][0])!r}"
                )

    def _unreadable(self, text: Array) -> dict[str, Array]:
        characters = reader.characters_of(text)
        broken = np.isin(characters, _CONTROLS).any(axis=1)
        broken |= ((characters[:, :-1] == 0) & (characters[:, 1:] != 0)).any(axis=1)
        return {
            "are empty": text == "",
            "have a line break or another control character": broken,
            "have blanks around them": np.strings.strip(text, " ") != text,
            "are a missing code": np.isin(text, [*self.missing, self.new_code]),
        }

    def declared(self, start: int | None, related: bool, folder: Path) -> Variable:
        """Return the variable as the metadata of the safe file declare it."""
        codelist = None if self.renumbered else self.variable.codelist
        if self.recoding is not None:
            # The labels of the old codes are wrong for the new ones.
            name = self.recoding.codelist
            codelist = (folder / PureWindowsPath(name).as_posix()) if name else None
        return replace(
            self.variable,
            start=start,
            width=self.width,
            missing=self.missing or (self.new_code,) * self.new_code_used,
            codelist=codelist,
            id_level=0,
            suppress_weight=50,
            related=self.variable.related if related else None,
        )


def _declared(fields: list[_Field], metadata: Metadata) -> Iterator[Variable]:
    names = {field.variable.name for field in fields}
    start = 0
    for field in fields:
        place = None if metadata.separator is not None else start
        related = field.variable.related in names
        yield field.declared(place, related, metadata.path.parent)
        start += field.width


def _text(name: str, values: Any) -> tuple[Array, Array]:
    """Return values as text, and a mask of missing values."""
    plain = np.asarray(np.ma.getdata(values))
    absent = np.ma.getmaskarray(values)
    if plain.dtype == object:
        absent = absent | np.array([v is None or v != v for v in plain], bool)
        kinds = {type(value) for value in plain[~absent]} - {str, np.str_}
        if all(issubclass(kind, int | np.integer) for kind in kinds):
            plain = np.where(absent, "", plain).astype(np.str_)
    if plain.dtype.kind in "iu":
        plain = plain.astype(np.str_)
    if plain.dtype.kind != "U" or plain.ndim != 1:
        raise TypeError(f"{name}: neither text nor whole numbers, but {plain.dtype}")
    return plain, absent


def _fixed(parts: list[Array], line_end: str) -> Array:
    """Return the characters of records in fixed format."""
    count = parts[0].shape[0]
    ends = np.tile(np.array([*map(ord, line_end)], np.uint32), (count, 1))
    characters: Array = np.concatenate([*parts, ends], axis=1)
    return characters.ravel()


def _free(parts: list[Array], separator: str, line_end: str) -> Array:
    """Return the characters of records in free format."""
    count = parts[0].size
    mark = np.full((count, 1), ord(separator), np.uint32)
    columns: list[Array] = []
    for text in parts:
        quoted = _quoted(text, separator, alone=len(parts) == 1)
        columns += [reader.characters_of(quoted), mark]
    characters = _fixed(columns[:-1], line_end)
    used: Array = characters[characters != 0]
    return used


def _quoted(text: Array, separator: str, *, alone: bool) -> Array:
    """Return text in quotes where it needs them."""
    characters = reader.characters_of(text)
    needy = ((characters == ord(separator)) | (characters == ord('"'))).any(axis=1)
    if alone:
        needy |= text == ""  # an empty line at the end would not be a record
    if not needy.any():
        return text
    quoted = ['"' + v.replace('"', '""') + '"' for v in text[needy].tolist()]
    text = text.astype(f"U{max(characters.shape[1], *map(len, quoted))}")
    text[needy] = quoted
    return text


class _Encoder:
    """Writes characters in the encoding of the source."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.encoding = encoding_of(source)
        # Whether the text could be read in another encoding than its own.
        self.ambiguous: bool | None = None

    def write(self, file: IO[bytes], characters: Array, fields: list[_Field]) -> None:
        if characters.max() < 128:
            file.write(characters.astype(np.uint8).tobytes())
            return
        try:
            raw = decoded(characters).encode(self.encoding)
        except UnicodeEncodeError:
            raise self._no_such_letters(fields) from None
        file.write(raw)
        if self.encoding == "cp1252" and self.ambiguous is not False:
            self.ambiguous = _is_utf8(raw)

    def refuse_ambiguous(self) -> None:
        if self.ambiguous:
            raise ValueError(
                f"{self.source}: in Windows-1252, but the columns given would be "
                "read as UTF-8; convert the source to UTF-8"
            )

    def _no_such_letters(self, fields: list[_Field]) -> ValueError:
        for field in fields:
            text = field.text[~field.absent]
            wide = text[(reader.characters_of(text) > 127).any(axis=1)]
            bad = [v for v in wide.tolist() if not encodes(v, self.encoding)]
            if bad:
                return ValueError(
                    f"{field.variable.name}: {len(bad)} values have no "
                    f"{self.encoding} form, first {bad[0]!r}"
                )
        return ValueError(f"{self.source}: names or codes have no {self.encoding} form")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
