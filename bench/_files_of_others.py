"""Test files of other projects, read by riskcore and by another reader."""

import collections
import math
import shutil
import tempfile
import warnings
from pathlib import Path

import pandas
import pyreadstat

from bench._common import table
from bench._public_cases import say

SUFFIXES = {".dta", ".sav", ".zsav", ".por", ".xpt", ".sas7bdat"}


def kind(path):
    """Return the program, format and byte order of a file, from its first bytes."""
    head = path.read_bytes()[:400]
    if path.suffix == ".dta":
        new = head[:1] == b"<"
        release = head[28:31].decode() if new else str(head[0])
        big = b"MSF" in head[:80] if new else head[1] == 1
        return f"Stata, .dta {release}{', big-endian' if big else ''}"
    if path.suffix == ".xpt":
        return f"SAS, .xpt of version {8 if b'LIBV8' in head else 5}"
    if path.suffix == ".sas7bdat":
        return "SAS, .sas7bdat"
    return f"SPSS, {path.suffix}"


def other_reader(path):
    """Return the frame that pandas reads, or pyreadstat for SPSS and .xpt 8."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.suffix == ".dta":
            how = {"convert_categoricals": False, "convert_dates": False}
            return pandas.read_stata(path, **how)
        if path.suffix == ".sas7bdat" or kind(path).endswith("5"):
            return pandas.read_sas(path, encoding="latin-1")
        read = pyreadstat.read_xport if path.suffix == ".xpt" else pyreadstat.read_sav
        return read(str(path), disable_datetime_conversion=True)[0]


def difference(path):
    """Return why riskcore does not read a file as the other reader does, or None."""
    said = say("describe", path, "--json")
    if said.status:
        return f"refused: {said.words.replace(str(path.parent), '').split(';')[0]}"
    found, frame = said.json, other_reader(path)
    shape = found["records"], len(found["columns"])
    if shape != frame.shape:
        return f"{shape} records and columns, not {frame.shape}"
    for column in found["columns"]:
        values = frame[column["column"]]
        missing = int((values.isna() | (values == "")).sum())
        if column["type"] != "time" and column["missing"] != missing:
            return f"{column['column']}: {column['missing']} missing, not {missing}"
        ends = column["smallest"], column["largest"]
        if pandas.api.types.is_numeric_dtype(values) and "number" in column["type"]:
            others = float(values.min()), float(values.max())
            # pandas reads the 0 of an .xpt as 5e-79.
            near = {"rel_tol": 1e-6, "abs_tol": 1e-70}
            pairs = [
                pair for pair in zip(ends, others, strict=True) if None not in pair
            ]
            if not all(math.isclose(float(a), b, **near) for a, b in pairs):
                return f"{column['column']}: {ends}, not {others}"
    return None


def labels_of(data, catalog):
    """Return why the labels of a catalog do not stand beside its data, or None."""
    labels = pyreadstat.read_sas7bcat(str(catalog))[1].value_labels
    frame, meta = pyreadstat.read_sas7bdat(str(data), user_missing=True)
    forms = {name: form or "" for name, form in meta.original_variable_types.items()}
    with tempfile.TemporaryDirectory() as folder:
        for path in (data, catalog):
            shutil.copy(path, Path(folder, "a").with_suffix(path.suffix))
        for name, form in forms.items():
            words = ["--keys", name, "--user-missing", "codes", "--top", 99]
            said = say("assess", Path(folder, "a.sas7bdat"), *words)
            codes = labels.get(form, {}).items()
            asked = [
                f"({label})" for code, label in codes if (frame[name] == code).any()
            ]
            lacking = [label for label in asked if label not in said.out]
            if said.status or lacking:
                return f"{name} lacks {', '.join(lacking)}: {said.words}"
    return None


def tried(folder):
    """Return a table of the files of a folder by kind, and what differs."""
    kinds = collections.defaultdict(list)
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix in SUFFIXES:
            kinds[kind(path)].append((path.name, difference(path)))
    for catalog in sorted(Path(folder).rglob("*.sas7bcat")):
        names = pyreadstat.read_sas7bcat(str(catalog))[1].value_labels
        tags = any(isinstance(code, str) and len(code) == 1 and code.isalpha()
                   for codes in names.values() for code in codes)  # fmt: skip
        name = f"SAS, .sas7bcat{' with labels of missing tags' if tags else ''}"
        for data in sorted(catalog.parent.glob("*.sas7bdat")):
            form = pyreadstat.read_sas7bdat(str(data), metadataonly=True)[1]
            if names.keys() & set(form.original_variable_types.values()):
                kinds[name].append((catalog.name, labels_of(data, catalog)))
    rows = []
    for name, files in sorted(kinds.items()):
        others = "; ".join(f"{file}: {why}" for file, why in files if why)
        same = sum(why is None for _, why in files)
        rows.append([name, f"{len(files)}", f"{same}", others.replace("|", "\\|")])
    header = ["kind", "files", "read the same", "else"]
    return table(header, rows, 4)
