"""Tell the encoding of a text file by its bytes, for a message."""

from __future__ import annotations

import re

# Between ASCII letters accents stand alone or by twos and threes; letters of other
# scripts do not touch ASCII letters.
_LATIN = r"(?<![^\x00-\x7f])[{}€§°«»ªº\u2010-\u2027]{{1,3}}(?![^\x00-\x7f])"
_SCRIPT = r"(?<![A-Za-z])[{}]+(?![A-Za-z])"
# The usual letters of each encoding; the better guess first where two fit.
_USUAL = {
    "cp932": _SCRIPT.format("\u3001-\u30fc\u4e00-\u9fa5"),
    "euc_kr": _SCRIPT.format("가-힣"),
    "gbk": "",  # the letters of GB 2312
    "big5": _SCRIPT.format("一-龥、。"),
    "cp1251": _SCRIPT.format("\u0401-\u0491"),
    "cp1253": _SCRIPT.format("\u0386-\u03ce"),
    "cp1252": _LATIN.format("äöüßéèêëàâáãåæçñóòôõøúùûîïíìœÄÖÜÉÈÊÀÂÁÃÅÆÇÑÓÔÕØÚÎÍ"),
    "cp1250": _LATIN.format(
        "ąćęłńóśźżáčďéěíňřšťúůýžäöüßőűăâîşţđôŕĺľĄĆĘŁŃÓŚŹŻÁČĎÉĚÍŘŠŤÚÝŽÄÖÜŐŰĂÎŞŢĐ"
    ),
    "cp1254": _LATIN.format("çğıöşüâîûÇĞİÖŞÜ"),
}
_ENOUGH = 0.8  # share of usual letters
_MOST = 3  # encodings in a message
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_WORD = re.compile(r"[^\s,;|\"]*[^\x00-\x7f][^\s,;|\"]*")


def encoding_hint(raw: bytes) -> str:
    r"""Return for a message the likely encodings of text, with a word as each reads it.

    >>> encoding_hint("Łódź;1\nŁódź;2\n".encode("cp1250"))
    "; encoding='cp1250' reads 'Łódź'"
    """
    for zero, order in ((1, "le"), (0, "be")):
        if raw[zero : zero + 1] == b"\0" != raw[1 - zero : 2 - zero]:
            return f", such as encoding='utf-16-{order}'"
    lines = raw[: raw.rfind(b"\n") + 1].splitlines(keepends=True)
    raw = b"".join(line for line in lines if not line.isascii())
    shares = {name: _share(name, _text(raw, name)) for name in _USUAL}
    names: dict[str, str] = {}  # by what they read
    for name in sorted(_USUAL, key=lambda name: -shares[name]):
        if shares[name] >= _ENOUGH:
            names.setdefault(_text(raw, name), name)
    words = [_WORD.findall(text) for text in [*names][:_MOST]]
    rows = [*zip(*words, strict=False)]
    # A word that each of them reads in another way.
    row = next((row for row in rows if len(set(row)) == len(row)), (rows or [()])[0])
    pairs = zip(names.values(), row, strict=False)
    return "".join(f"; encoding={name!r} reads {word!r}" for name, word in pairs)


def _text(raw: bytes, encoding: str) -> str:
    """Return text, empty if an encoding does not read the bytes."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return ""


def _share(encoding: str, text: str) -> float:
    """Return the share of the letters beyond ASCII that are usual in an encoding."""
    usual = "".join(re.findall(_USUAL[encoding], text))
    if encoding == "gbk":
        usual = text.encode("gb2312", "ignore").decode("gb2312")
    foreign = len(_FOREIGN.findall(text))
    return len(_FOREIGN.findall(usual)) / foreign if foreign else 0.0
