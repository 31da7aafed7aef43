"""Machine code that came with the package: what fits is used, all else is not there."""

import ctypes
import logging
import platform

import llvmlite.binding as llvm
import pytest

from bindings import compile_ahead
from riskcore.core.compiled import shipped
from tests import needs

LEVELS = ["x86-64-v4", "x86-64-v3", "x86-64-v2"]
KNOWN = shipped.PROCESSORS["x86_64"]
HERE = needs.KINDS.get(platform.machine(), "")
OLDEST = [*shipped.PROCESSORS.get(HERE, [""])][-1]
ONE, TWO = "riskcore.forms.one", "riskcore.forms.two"
SOURCES = {ONE: "5" * 64, TWO: "6" * 64}
VALUES = {ONE: 1.5, TWO: 2.5}

pytestmark = needs.compiler


def write(folder, processor=OLDEST, sources=SOURCES, shift=0.0):
    """Link a library of functions that return a number; return its path."""
    triple = llvm.get_process_triple()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(reloc="pic", codemodel="small")
    maker = compile_ahead.LibraryMaker(f"linux-{HERE}", processor, machine)
    for name, digest in sources.items():
        symbol = shipped.symbol_of(name)
        value = VALUES[name] + shift
        text = f"define double @{symbol}() {{\n ret double {value}\n}}"
        maker.add(name, digest, compile_ahead.parsed(text, machine))
    path = maker.write(folder)
    return path.rename(folder / path.name)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder of the package's machine code, with nothing remembered."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.delenv("RISKCORE_CPU", raising=False)
    shipped.best_library.cache_clear()
    yield tmp_path
    shipped.best_library.cache_clear()


def value(name=ONE, sources=None):
    """Return what the shipped code of a name returns, or None."""
    address = shipped.address(name, lambda: sources or SOURCES[name])
    return None if address is None else ctypes.CFUNCTYPE(ctypes.c_double)(address)()


def test_what_is_linked_is_called(folder):
    write(folder)
    assert {name: value(name) for name in VALUES} == VALUES
    assert value("riskcore.forms.three", "5" * 64) is None


def test_the_library_does_not_depend_on_the_order_of_names(tmp_path):
    turned = dict(reversed(SOURCES.items()))
    paths = [
        write(tmp_path / str(i), sources=s) for i, s in enumerate((SOURCES, turned))
    ]
    indexes = [shipped.sources_of(path, OLDEST) for path in paths]
    assert indexes[0] == indexes[1] == SOURCES


def test_without_a_library_there_is_nothing(folder):
    assert value() is None
    assert not shipped.has(ONE)


def test_code_of_other_sources_is_not_used(folder, caplog):
    write(folder)
    with caplog.at_level(logging.DEBUG, "riskcore"):
        assert value(sources="7" * 64) is None
    assert "of other sources" in caplog.text
    assert {each.levelno for each in caplog.records} == {logging.DEBUG}
    assert shipped.has(ONE)  # without a look at the sources


def test_a_library_under_the_name_of_another_processor_is_not_used(folder):
    path = write(folder, processor="another")
    path.rename(folder / f"{OLDEST}.so")
    assert value() is None


def damages():
    return {
        "empty": lambda whole: b"",
        "text": lambda whole: b"no library\n" * 100,
        "a header": lambda whole: whole[:64],
        "another version": lambda whole: whole.replace(b"code 2,", b"code 3,"),
        "no index": lambda whole: whole.replace(b"riskcore_index", b"riskcore_indes"),
        "another machine": lambda whole: whole[:18] + b"\x00\x01" + whole[20:],
    }


@pytest.mark.parametrize("damage", damages())
def test_a_strange_library_is_as_if_nothing_were_there(folder, damage):
    path = write(folder)
    whole = path.read_bytes()
    assert damages()[damage](whole) != whole
    path.write_bytes(damages()[damage](whole))
    assert value() is None


def test_a_folder_is_no_library(folder):
    (folder / f"{OLDEST}.so").mkdir()
    assert value() is None


def test_the_index_of_a_library_for_another_platform_can_be_read(tmp_path):
    index = shipped.index_of(SOURCES, "generic")
    path = tmp_path / "generic.dylib"
    path.write_bytes(b"\xfe" * 99 + index + b"\xfe" * 99)
    assert shipped.sources_of(path, "generic") == SOURCES
    assert shipped.sources_of(path, "x86-64-v2") == {}
    assert shipped.sources_of(tmp_path / "none.dylib", "generic") == {}


# --- what runs where ------------------------------------------------------------------


class Processor:
    """A library's code that says what it is told of a processor."""

    def __init__(self, features, kept=0xE7, highest=0x7):
        self.features, self.kept, self.highest = features, kept, highest

    def riskcore_cpuid(self, leaf, register):
        """Return a register after CPUID, as processors do."""
        if register == 0:
            return self.highest | (leaf & 0x80000000)
        bits = shipped.BITS[leaf, register]
        return sum(1 << bit for name, bit in bits.items() if name in self.features)

    def riskcore_registers(self):
        """Return the registers that the system keeps, XCR0."""
        assert "xsave" in self.features  # without it the instruction is illegal
        return self.kept


def code(features, *rest):
    processor = Processor(features, *rest)
    result = type("Code", (), {})()
    result.riskcore_cpuid = lambda *args: processor.riskcore_cpuid(*args)
    result.riskcore_registers = lambda: processor.riskcore_registers()
    return result


@pytest.mark.parametrize("level", LEVELS)
def test_features_are_found(level):
    assert shipped.features(code(KNOWN[level])) == KNOWN[level]


def test_every_feature_has_a_place():
    places = [name for bits in shipped.BITS.values() for name in bits]
    assert sorted(places) == sorted(KNOWN["x86-64-v4"])


@pytest.mark.parametrize(
    ("kept", "level"),
    [(0xE7, 0), (0xA7, 1), (0x07, 1), (0x03, 2), (0x00, 2)],
)
def test_registers_that_the_system_does_not_keep_are_not_used(kept, level):
    # A system without AVX-512, or without AVX, on a processor that has both.
    found = shipped.features(code(KNOWN["x86-64-v4"], kept))
    assert [name for name in LEVELS if KNOWN[name] <= found] == LEVELS[level:]


def test_a_system_that_keeps_no_registers_is_not_asked():
    found = shipped.features(code(KNOWN["x86-64-v4"] - {"xsave"}))
    assert found == KNOWN["x86-64-v2"]


def test_a_processor_without_a_leaf_is_not_asked_for_it():
    assert not shipped.features(code(KNOWN["x86-64-v4"], 0xE7, 0x1)) & {"avx2", "bmi"}


def test_code_for_any_processor_asks_nothing():
    assert shipped.features(object()) == set()


@needs.x86
def test_features_are_those_that_llvm_finds(folder):
    path = write(folder)
    found = shipped.features(ctypes.CDLL(str(path)))
    theirs = llvm.get_host_cpu_features()
    assert found == {name for name in KNOWN["x86-64-v4"] if theirs.get(name)}


@needs.x86
def test_the_best_code_that_runs_is_used(folder, monkeypatch):
    for i, level in enumerate(LEVELS):
        write(folder, processor=level, shift=float(i))
    having = KNOWN["x86-64-v3"]
    monkeypatch.setattr(shipped, "features", lambda code: having)
    assert value() == VALUES[ONE] + 1
    (folder / "x86-64-v3.so").unlink()
    shipped.best_library.cache_clear()
    assert value() == VALUES[ONE] + 2
    having = set()
    shipped.best_library.cache_clear()
    assert value() is None
    monkeypatch.setenv("RISKCORE_CPU", "x86-64-v2")  # is believed
    assert value() == VALUES[ONE] + 2
    monkeypatch.setenv("RISKCORE_CPU", "znver4")
    assert value() is None


@pytest.mark.parametrize("level", LEVELS)
def test_one_feature_less_is_a_level_less(level):
    for lost in KNOWN[level]:
        assert not KNOWN[level] <= shipped.features(code(KNOWN[level] - {lost}))


def test_the_levels_are_those_of_the_psabi():
    # As many as its table lists: 7, 9 and 5.
    assert [len(KNOWN[level]) for level in LEVELS] == [21, 16, 7]
    assert KNOWN["x86-64-v2"] < KNOWN["x86-64-v3"] < KNOWN["x86-64-v4"]


@pytest.mark.parametrize(
    "name", ["RISKCORE_COMPILE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"]
)
def test_it_can_be_refused(folder, monkeypatch, name):
    write(folder)
    for each in ("RISKCORE_COMPILE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "")
    assert value() == VALUES[ONE]
    monkeypatch.setenv(name, "1")
    assert value() is None
    assert not shipped.has(ONE)
