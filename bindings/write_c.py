"""Write the kernels as C99, from the source that Numba compiles.

    python -m bindings.write_c            # the files in bindings/c
    python -m bindings.write_c --check    # only tell whether they are current

Kernels are plain Python functions over doubles, integers, pointers and tuples. Each
becomes a C function for the types it is called with (`c_kernel.py`), with its comments
and the names of its constants (`c_text.py`), so that both do the same operations in the
same order. The primitives, which have no such source, are in `prelude.c`.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bindings.c_kernel import (
    NOTHING,
    PRIMITIVES,
    ROOM,
    Translation,
    Type,
    declared,
    is_constant,
    pointer_to,
)
from bindings.c_text import C_NAMES, Writer, constant, field, names_in, wrapped
from riskcore.core.compiled import jit, ufunc_maker
from riskcore.core.risk import bounds, individual, posterior, prior

FOLDER = Path(__file__).with_name("c")

# The functions of riskcore.h; for the others Python is needed.
NAMES = {
    individual: (
        "individual_risk",
        "individual_risk_from_frequencies",
        "log_individual_risk",
        "individual_risk_gradient",
    ),
    bounds: (
        "individual_risk_bounds",
        "individual_risk_down",
        "individual_risk_up",
    ),
    prior: (
        "individual_risk_with_prior",
        "log_individual_risk_with_prior",
        "individual_risk_poisson",
        "log_individual_risk_poisson",
    ),
    posterior: ("individual_risk_deviation",),
}

_LETTERS = {"double": "d", "int64_t": "i", "bool": "b"}
_TUPLES = {"dd": "Pair", "ddd": "Triple"}

# --- the whole file ------------------------------------------------------------------


class Whole:
    """All functions and constants of a file."""

    def __init__(self) -> None:
        self.translations: dict[Any, Translation] = {}  # each after those it calls
        self.shared = {each.function for each in jit.SHARED.values()}
        self.tuples: dict[Type, str] = {}
        self.constants: dict[Any, Any] = {}
        self.constant_names: dict[Any, str] = {}
        self.given_names: dict[int, str] = {}
        self.hot: list[Translation] = []  # called in loops over cells

    def translation(
        self, function: Callable[..., Any], kinds: tuple[Type, ...]
    ) -> Translation:
        """Return the translation of a kernel for arguments of given types."""
        key = (function, kinds)
        if key not in self.translations:
            found = Translation(self, function, kinds)
            self.translations[key] = found
        return self.translations[key]

    # --- primitives ---

    def kind_of_primitive(self, called: Callable[..., Any]) -> Type:
        """Return the type of a primitive's result."""
        if called.__name__ in ROOM:
            return pointer_to(ROOM[called.__name__][0])
        if called.__name__ in NOTHING:
            return None
        if self.is_table(called):
            return "double"
        return PRIMITIVES[called.__name__][1]

    def is_table(self, called: Callable[..., Any]) -> bool:
        """Return whether a primitive looks up a number in a table."""
        return jit.is_primitive(called) and "values" in called.__code__.co_freevars

    # --- names ---

    def constant_key(self, user: Translation, name: str) -> Any:
        """Return what identifies a constant: its name and value."""
        return name.strip("_"), repr(user.values[name])

    def _keep_called(self, roots: list[Translation]) -> None:
        """Drop the translations for types that were only passing guesses."""
        kept = _reached(roots)
        self.translations = {
            key: each for key, each in self.translations.items() if id(each) in kept
        }

    def _collect(self) -> None:
        """Find the constants, and give names to all."""
        users: dict[Any, str] = {}
        for each in self.translations.values():
            for name in dict.fromkeys(names_in(ast.Module(each.body, []))):
                value = each.values.get(name)
                if name in each.locals or name not in each.function.__globals__:
                    continue
                if callable(value) and jit.is_primitive(value):
                    if self.is_table(value):
                        table = inspect.getclosurevars(value).nonlocals["values"]
                        self.constants[value.__name__] = table
                        self.constant_names[value.__name__] = value.__name__.strip("_")
                elif is_constant(value) and not _is_nested(value):
                    key = self.constant_key(each, name)
                    self.constants[key] = value
                    users.setdefault(key, each.module)
        often: dict[str, int] = {}
        for name, _ in users:
            often[name] = often.get(name, 0) + 1
        for key, module in users.items():
            name = key[0]
            if often[name] > 1:
                name = f"{module.rpartition('.')[2].strip('_')}_{name}"
            while name in self.constant_names.values():
                name += "_"
            self.constant_names[key] = name
        self.by_c_name = {
            name: self.constants[key] for key, name in self.constant_names.items()
        }
        self._name_functions()

    def _name_functions(self) -> None:
        aliases = _aliases()
        wanted: dict[str, list[Translation]] = {}
        for each in self.translations.values():
            name = self.given_names.get(id(each.function)) or aliases.get(
                id(each.function), each.function.__name__
            )
            wanted.setdefault(name.strip("_"), []).append(each)
        taken = {*C_NAMES, *self.constant_names.values()}
        for name, those in wanted.items():
            modules = [each.module.rpartition(".")[2].strip("_") for each in those]
            for each, module in zip(those, modules, strict=True):
                full = name
                if len(set(modules)) > 1 or name in taken:
                    full = f"{module}_{name}"
                number = 2
                while full in taken:
                    full = f"{full.rstrip('0123456789').rstrip('_')}_{number}"
                    number += 1
                each.name = full
                taken.add(full)

    def names_used(self, translation: Translation) -> set[str]:
        """Return the names of functions and constants that a function uses."""
        names = {each.name for each in translation.called.values()}
        for name in names_in(ast.Module(translation.body, [])):
            key = (name.strip("_"), repr(translation.values.get(name)))
            if key in self.constant_names:
                names.add(self.constant_names[key])
        return names

    def c_type(self, kind: Type) -> str:
        """Return the name of a type."""
        if kind is None:
            return "void"
        if not isinstance(kind, tuple):
            return str(kind)
        if kind not in self.tuples:
            letters = _letters(kind)
            self.tuples[kind] = _TUPLES.get(letters, f"Tuple_{letters}")
        return self.tuples[kind]

    # --- text ---

    def functions(self, roots: list[Translation]) -> list[str]:
        """Return the lines of all constants and functions that the roots need."""
        self._keep_called(roots)
        self._collect()
        texts = {id(each): self._function(each) for each in self.translations.values()}
        hot = _reached([each for each in self.hot if _is_straight(each)])
        lines: list[str] = []
        written: set[str] = set()
        module = ""
        for each in self.translations.values():
            if each.module != module:
                module = each.module
                path = f"{module.replace('.', '/')}.py"
                lines += ["", f"/* --- {path} {'-' * (75 - len(path))} */"]
            function = texts[id(each)]
            if id(each) not in hot:
                function = [
                    line.replace("RISKCORE_KERNEL", "RISKCORE_PLAIN")
                    for line in function
                ]
            constants = self._constants_in(function, written)
            lines += ["", *constants] if constants else []
            lines += ["", *function]
        return lines

    def _constants_in(self, lines: list[str], written: set[str]) -> list[str]:
        """Return the definitions of the constants that lines are the first to use."""
        words = re.findall(r"[A-Za-z_]\w*", "\n".join(lines))
        found = []
        for name in dict.fromkeys(words):
            if name in self.by_c_name and name not in written:
                written.add(name)
                found += constant(name, self.by_c_name[name])
        return found

    def _function(self, translation: Translation) -> list[str]:
        writer = Writer(translation)
        comment = textwrap.dedent(translation.doc).strip().partition("\n\n")
        about = comment[0].replace("\n", " ").replace("``", "")
        lines = wrapped(f"/* {about} */") if about else []
        kept = (
            "RISKCORE_SHARED"
            if translation.function in self.shared
            else "RISKCORE_KERNEL"
        )
        kinds = [
            declared(self.c_type(kind), writer.name(name))
            for name, kind in zip(
                translation.parameters, translation.kinds, strict=True
            )
        ]
        head = declared(self.c_type(translation.result), translation.name)
        lines += wrapped(f"{kept} {head}({', '.join(kinds)})")
        used = set(names_in(ast.Module(translation.body, [])))
        for name in translation.parameters:
            if name not in used:
                writer.put(f"(void){writer.name(name)};")
        writer.body(translation.body)
        return [*lines, "{", *writer.lines, "}"]

    def structures(self) -> list[str]:
        """Return the lines that define the tuples."""
        lines: list[str] = []
        for kind in sorted(
            self.tuples, key=lambda kind: (_depth(kind), _letters(kind))
        ):
            fields = [
                f"{declared(self.c_type(each), field(place))};"
                for place, each in enumerate(kind)
            ]
            lines.append(
                f"typedef struct {{ {' '.join(fields)} }} {self.tuples[kind]};"
            )
        return lines


def _reached(roots: list[Translation]) -> set[int]:
    """Return the identities of translations and of all that they call."""
    found: set[int] = set()
    left = list(roots)
    while left:
        each = left.pop()
        if id(each) not in found:
            found.add(id(each))
            left += each.called.values()
    return found


def _is_straight(translation: Translation) -> bool:
    """Return whether a loop over cells that calls a kernel can use vectors."""
    for each in ast.walk(ast.Module(translation.body, [])):
        if isinstance(each, ast.If | ast.While):
            return False
    return all(map(_is_straight, translation.called.values()))


def _is_nested(value: Any) -> bool:
    return isinstance(value, tuple) and any(isinstance(each, tuple) for each in value)


def _letters(kind: Type) -> str:
    if isinstance(kind, tuple):
        return "".join(
            f"_{_letters(each)}_" if isinstance(each, tuple) else _letters(each)
            for each in kind
        ).strip("_")
    return _LETTERS[kind]


def _depth(kind: Type) -> int:
    return 1 + max(map(_depth, kind)) if isinstance(kind, tuple) else 0


def _aliases() -> dict[int, str]:
    """Return the names of modules' functions, by identity."""
    found: dict[int, str] = {}
    for name in sorted(sys.modules):
        if name.startswith("riskcore."):
            for alias, value in vars(sys.modules[name]).items():
                if inspect.isfunction(value):
                    own = value.__module__ == name or id(value) not in found
                    if (own and alias != value.__name__) or id(value) not in found:
                        found[id(value)] = alias
    return found


class Entry(NamedTuple):
    """A public function."""

    name: str
    about: str
    arguments: list[str]
    results: list[str]
    scalar: Translation
    loop: Translation

    def declarations(self) -> tuple[str, str]:
        """Return the declarations of one cell and of arrays."""
        arguments = ", ".join(f"double {each}" for each in self.arguments)
        if len(self.results) == 1:
            one = f"double riskcore_{self.name}({arguments})"
        else:
            results = ", ".join(f"double *{each}" for each in self.results)
            one = f"void riskcore_{self.name}({arguments}, {results})"
        parts = [f"const double *{each}" for each in self.arguments]
        parts += [f"double *{each}" for each in self.results]
        return one, f"void riskcore_{self.name}_array({', '.join(parts)}, int64_t n)"

    def definitions(self, whole: Whole) -> list[str]:
        """Return the lines of both functions."""
        names = ", ".join(self.arguments)
        given = ", ".join(f"double {each}" for each in self.arguments)
        kind = whole.c_type(self.scalar.result)
        body = f"{self.name}_in_mode"
        lines = [
            "",
            *wrapped(f"RISKCORE_SHARED {kind} {body}({given})"),
            "{",
            f"    return {self.scalar.name}({names});",
            "}",
        ]
        call = f"const {declared(kind, 'value')} = {body}({names});"
        if len(self.results) == 1:
            after = ["    return value;"]
        else:
            after = [
                f"    *{each} = value.{field(place)};"
                for place, each in enumerate(self.results)
            ]
            names += f", {', '.join(self.results)}"
        one, many = self.declarations()
        lines += self._in_mode(one, self.name, names, [call], after)
        arrays = [f"(double *){each}" for each in self.arguments] + self.results
        steps = ", ".join(["8"] * len(arrays))
        calls = [
            f"double *args[] = {{{', '.join(arrays)}}};",
            f"int64_t sizes[] = {{n}}, steps[] = {{{steps}}};",
            f"{self.loop.name}(args, sizes, steps, 0);",
        ]
        names = ", ".join([*self.arguments, *self.results, "n"])
        return lines + self._in_mode(many, f"{self.name}_array", names, calls, [])

    def _in_mode(
        self, head: str, name: str, given: str, calls: list[str], after: list[str]
    ) -> list[str]:
        """Return the lines of a function that sets the floating-point mode."""
        returned = "return " if after == ["    return value;"] else ""
        plain = head.replace(f"riskcore_{name}(", f"RISKCORE_NAME({name})(")
        other = head.replace(f"riskcore_{name}(", f"riskcore_{name}_fma(")
        handed = f"    {returned}riskcore_{name}_fma({given});"
        if not returned:
            handed = f"    {{ riskcore_{name}_fma({given}); return; }}"
        return [
            "",
            "#ifdef RISKCORE_HANDS_OVER",
            *wrapped(f"{other};"),
            "#endif",
            *wrapped(plain),
            "{",
            "#ifdef RISKCORE_HANDS_OVER",
            "    if (HAS_FMA)",
            *(f"    {line}" for line in wrapped(handed)),
            "#endif",
            "    const Mode mode = read_mode();",
            "    if (!is_usual(mode))",
            "        write_mode(usual(mode));",
            *(line for each in calls for line in wrapped(f"    {each}")),
            "    if (!is_usual(mode))",
            "        write_mode(mode);",
            *after,
            "}",
        ]


_LOOP = ("double **", "int64_t *", "int64_t *", "int64_t")


def entries(whole: Whole) -> list[Entry]:
    """Translate the public functions."""
    found = []
    for module, names in NAMES.items():
        for name in names:
            source = ufunc_maker.offered()[f"{module.__name__}.{name}"]
            arguments = list(inspect.signature(source.scalar).parameters)
            doubles = ("double",) * len(arguments)
            scalar = whole.translation(source.scalar, doubles)
            loop = whole.translation(source.loop, _LOOP)
            whole.given_names[id(source.scalar)] = f"{name}_of_one"
            whole.given_names[id(source.loop)] = f"{name}_of_many"
            about = source.doc.strip().partition("\n\n")[0].replace("\n", " ")
            results = ["out"] if source.outputs == 1 else ["lower", "upper"]
            found.append(Entry(name, about, arguments, results, scalar, loop))
    return found


FMA = """
#ifdef __x86_64__
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("arch=haswell"))), \\
                             apply_to = function)
#else
#pragma GCC target("arch=haswell")
#endif
#define RISKCORE_FMA
#include "riskcore.c"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int riskcore_has_one_version; /* a file must not be empty */
#endif
"""

LICENSE = """\
riskcore {version}: the individual risk of re-identification. BSD-3-Clause, see LICENSE.

   Written by bindings/write_c.py from the kernels in riskcore/core; never edit it."""

HEADER = """
#ifndef RISKCORE_H
#define RISKCORE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A cell has f records in the sample, real, f > 0, and the sampling fraction p,
   0 < p <= 1. The functions give the same bits as those of Python, on every processor.
   They neither allocate nor raise and have no state, so threads may share them; they
   take some 100 KiB of stack. They work in every floating-point mode on x86-64 and
   arm64; elsewhere it must be the usual one. An array has n numbers; a result may
   replace an argument, and must not overlap it otherwise.

   Special values, in the style of Annex F of C99; subnormal arguments are exact:
   - each function returns a nan if an argument is one, or is outside its domain: +-0,
     below 0 or infinite, p > 1, F < f (mu may be 0). The nan always has the
     bits 0x7ff8000000000000, whatever bits an argument has.
   - the domain of ..._with_prior and ..._poisson ends at 2^-10 <= f <= 2^60,
     shape <= 2^60, 2^-200 <= p and mu <= 2^100; that of ..._deviation at 2^-320 <= f
     and, for f > 2^64, at a finite f/p.
   - individual_risk(f, 1) and ..._from_frequencies(f, f) return 1/f, rounded once, and
     +inf for f <= 2^-1024; log_individual_risk(1, 1) returns +0, and the logarithms
     with a prior return -0 where the risk is 1.
   - individual_risk_gradient(f, 1) returns 1/(f + 1), rounded once.
   - individual_risk_down returns +0 below the smallest double, and the largest double
     above it; individual_risk_up the smallest one and +inf; bounds both.
   - floating-point flags mean nothing after a call, and errno is not touched.

   Compile riskcore.c with optimization, never with -ffast-math, and link with -lm: of
   libm only fma and sqrt are called. It is fast where the compiler may use FMA
   (-march=native or -march=x86-64-v3). For a program that runs anywhere compile
   riskcore.c and riskcore_fma.c, both with -DRISKCORE_DISPATCH. */
"""


def texts() -> dict[str, str]:
    """Return the two files, by name."""
    from riskcore import __version__

    whole = Whole()
    public = entries(whole)
    functions = whole.functions([t for e in public for t in (e.scalar, e.loop)])
    definitions = [line for each in public for line in each.definitions(whole)]
    license_ = LICENSE.format(version=__version__)
    header = [f"/* {license_} */", HEADER.strip("\n")]
    for each in public:
        header += ["", *wrapped(f"/* {each.about} */")]
        header += [line for one in each.declarations() for line in wrapped(f"{one};")]
    header += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    code = [
        f"/* {license_} */",
        Path(__file__).with_name("prelude.c").read_text().partition("\n\n")[2].rstrip(),
        "",
        *whole.structures(),
        *functions,
        "",
        f"/* --- public functions {'-' * 70} */",
        *definitions,
        "",
    ]
    code.insert(1, '\n#include "riskcore.h"')
    return {
        "riskcore.h": "\n".join(header),
        "riskcore.c": "\n".join(code),
        "riskcore_fma.c": f"/* {license_} */\n{FMA}",
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or compare them with what would be written."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args(arguments)
    stale = 0
    for name, text in texts().items():
        path = FOLDER / name
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        if options.check:
            print(f"{path} is not current: run nox -s c")
        else:
            path.write_text(text)
            print(f"{path}: {len(text.splitlines())} lines")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
