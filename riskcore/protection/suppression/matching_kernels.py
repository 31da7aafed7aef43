"""The compiled part of `matching`: blank and put back values, and count f and F.

An entry point takes a `State` or `Moves` as one array of words, see `words`: numbers
stand for themselves, arrays for their addresses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.jit import kernel, native, primitive


class State(NamedTuple):
    """What is blanked, and f and F of all units, seen from every set of keys.

    Attributes
    ----------
    units, sets, M : int
        The number of units, of sets of keys, and of keys in the largest set.
    shift : int
        By how many bits f is finer than the table of the least F.
    code, key, after : int32, shape (sets, units, M)
        The codes of each unit, -1 if missing; the same sorted, -1 where a key may be
        blanked; where the sorted list goes on once a key differs.
    order : int32, shape (sets, units)
        The unit of each row of the sorted list.
    bits : uint64, shape (sets, M)
        The mask of each key.
    shape : int64, shape (sets, 4)
        The number of keys; whether records without any key do not count for complete
        ones; where the table of the least F begins, and the length of its rows.
    gives : int64, shape (units, 4)
        What each unit adds to f and F where it surely matches, then where it may match.
    limit : int32, shape (sets, units)
        The row of the table, -1 if the unit is not watched.
    least : int64
        The least F by limit and f: the tables of all sets.
    blank : uint64, shape (units,)
        The columns that are blanked.
    f, F : int64, shape (sets, units)
    tally : int64, shape (2,)
        How many units turned unsafe, and how many pairs of units were compared.
    """

    units: int
    sets: int
    M: int
    shift: int
    code: Any
    key: Any
    after: Any
    order: Any
    bits: Any
    shape: Any
    gives: Any
    limit: Any
    least: Any
    blank: Any
    f: Any
    F: Any
    tally: Any


class Moves(NamedTuple):
    """Groups of values; those of a group are put back, or blanked, together.

    Attributes
    ----------
    number : int
    begin : int64, shape (number + 1,)
        Where the parts of each move begin.
    unit : int64
    columns : uint64
    """

    number: int
    begin: Any
    unit: Any
    columns: Any

    @classmethod
    def of(cls, moves: Sequence[Sequence[tuple[int, int]]]) -> Moves:
        """Return moves that are given as pairs of a unit and a mask of columns."""
        parts = [part for move in moves for part in move]
        begin = np.cumsum([0, *(len(move) for move in moves)])
        unit = np.array([u for u, _ in parts], np.int64)
        columns = np.array([c for _, c in parts], np.uint64)
        return cls(len(moves), begin, unit, columns)

    @property
    def of_part(self) -> NDArray[np.int64]:
        """The move of each part."""
        return np.repeat(np.arange(self.number), np.diff(self.begin))

    def take(self, order: NDArray[np.int64]) -> Moves:
        """Return some moves, in another order."""
        length = np.diff(self.begin)[order]
        begin = np.concatenate([[0], np.cumsum(length)])
        at = np.repeat(self.begin[order] - begin[:-1], length) + np.arange(begin[-1])
        return Moves(len(order), begin, self.unit[at], self.columns[at])


_INT32 = {"code", "key", "after", "order", "limit"}
_UINT64 = {"bits", "blank", "columns"}


def words(given: State | Moves) -> NDArray[np.int64]:
    """Return the numbers and the addresses of the arrays of a state or moves."""
    found = []
    for name, value in given._asdict().items():
        if isinstance(value, np.ndarray):
            kind = (
                "int32" if name in _INT32 else "uint64" if name in _UINT64 else "int64"
            )
            if value.dtype != kind or not value.flags.c_contiguous:
                raise TypeError(f"{name}: need a contiguous {kind} array")
            value = value.ctypes.data
        found.append(value)
    return np.array(found, np.int64)


def _emit_pointer(bits: int) -> Callable[..., Any]:
    def emit(builder: Any, address: Any) -> Any:
        from llvmlite import ir

        return builder.inttoptr(address, ir.IntType(bits).as_pointer())

    return emit


@primitive("CPointer(int32)(int64)", _emit_pointer(32))
def _int32s(address: int) -> Any:
    """Return the array of int32 at an address."""
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_int32))


@primitive("CPointer(int64)(int64)", _emit_pointer(64))
def _int64s(address: int) -> Any:
    """Return the array of int64 at an address."""
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_int64))


@primitive("CPointer(uint64)(int64)", _emit_pointer(64))
def _uint64s(address: int) -> Any:
    """Return the array of uint64 at an address."""
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_uint64))


@kernel
def state_of(word: Any) -> Any:
    """Return the state that words stand for."""
    return State(
        word[0],
        word[1],
        word[2],
        word[3],
        _int32s(word[4]),
        _int32s(word[5]),
        _int32s(word[6]),
        _int32s(word[7]),
        _uint64s(word[8]),
        _int64s(word[9]),
        _int64s(word[10]),
        _int32s(word[11]),
        _int64s(word[12]),
        _uint64s(word[13]),
        _int64s(word[14]),
        _int64s(word[15]),
        _int64s(word[16]),
    )


@kernel
def moves_of(word: Any) -> Any:
    """Return the moves that words stand for."""
    return Moves(word[0], _int64s(word[1]), _int64s(word[2]), _uint64s(word[3]))


@kernel
def is_safe(s: Any, v: int, u: int) -> bool:
    """Return whether a unit is safe from a set of keys, or not watched."""
    at = v * s.units + u
    row = s.limit[at]
    if row < 0:
        return True
    most = s.shape[4 * v + 3] - 1
    i = s.f[at] >> s.shift
    if i > most:
        i = most
    enough: bool = s.F[at] >= s.least[s.shape[4 * v + 2] + row * (most + 1) + i]
    return enough


@kernel
def _kinds(s: Any, v: int, u: int, w: int, blank_u: Any, blank_w: Any) -> int:
    """Return how w counts for u, and u for w: 0 not, 1 perhaps, 2 surely; u + 4 w."""
    same = True
    full_u, full_w, any_u, any_w = True, True, False, False
    row_u, row_w, row = (v * s.units + u) * s.M, (v * s.units + w) * s.M, v * s.M
    for k in range(s.shape[4 * v]):
        a, b = s.code[row_u + k], s.code[row_w + k]
        if blank_u & s.bits[row + k] != 0:
            a = -1
        if blank_w & s.bits[row + k] != 0:
            b = -1
        if a != b:
            same = False
            if a >= 0 and b >= 0:
                return 0
        if a < 0:
            full_u = False
        else:
            any_u = True
        if b < 0:
            full_w = False
        else:
            any_w = True
    if same:
        return 10
    apart = s.shape[4 * v + 1] != 0
    for_u, for_w = 1, 1
    if full_w or not any_u:
        for_u = 2
    elif apart and full_u and not any_w:
        for_u = 0
    if full_u or not any_w:
        for_w = 2
    elif apart and full_w and not any_u:
        for_w = 0
    return for_u + 4 * for_w


@kernel
def _next(s: Any, v: int, u: int, p: int, blank: Any) -> int:
    """Return the first place from p on of a unit that may match u; U if none."""
    m = s.shape[4 * v]
    while p < s.units:
        at = (v * s.units + p) * s.M
        k = 0
        while k < m:
            b = s.key[at + k]
            if b >= 0 and blank & s.bits[v * s.M + k] == 0:
                a = s.code[(v * s.units + u) * s.M + k]
                if a >= 0 and a != b:
                    break
            k += 1
        s.tally[1] += 1
        if k == m:
            return p
        p = s.after[at + k]
    units: int = s.units
    return units


@kernel
def _change(s: Any, u: int, new: Any) -> int:
    """Blank other columns of a unit; return how many units turn unsafe."""
    old = s.blank[u]
    turned = 0
    for v in range(s.sets):
        own = np.uint64(0)
        for k in range(s.shape[4 * v]):
            own |= s.bits[v * s.M + k]
        if (old ^ new) & own == 0:
            continue
        f, F = s.gives[4 * u], s.gives[4 * u + 1]
        p = _next(s, v, u, 0, old | new)
        while p < s.units:
            w = s.order[v * s.units + p]
            if w != u:
                before = _kinds(s, v, u, w, old, s.blank[w])
                now = _kinds(s, v, u, w, new, s.blank[w])
                kind = now & 3
                if kind != 0:
                    f += s.gives[4 * w + 4 - 2 * kind]
                    F += s.gives[4 * w + 5 - 2 * kind]
                before, now = before >> 2, now >> 2
                at = v * s.units + w
                if before != now and s.limit[at] >= 0:
                    safe = is_safe(s, v, w)
                    if before != 0:
                        s.f[at] -= s.gives[4 * u + 4 - 2 * before]
                        s.F[at] -= s.gives[4 * u + 5 - 2 * before]
                    if now != 0:
                        s.f[at] += s.gives[4 * u + 4 - 2 * now]
                        s.F[at] += s.gives[4 * u + 5 - 2 * now]
                    if safe and not is_safe(s, v, w):
                        turned += 1
            p = _next(s, v, u, p + 1, old | new)
        at = v * s.units + u
        if s.limit[at] >= 0:
            safe = is_safe(s, v, u)
            s.f[at], s.F[at] = f, F
            if safe and not is_safe(s, v, u):
                turned += 1
    s.blank[u] = new
    return turned


@kernel
def put_back(s: Any, moves: Any, t: int) -> int:
    """Put the values of a move back; return how many units turn unsafe."""
    turned = 0
    for part in range(moves.begin[t], moves.begin[t + 1]):
        u = moves.unit[part]
        turned += _change(s, u, s.blank[u] & ~moves.columns[part])
    return turned


@kernel
def blank(s: Any, moves: Any, t: int) -> int:
    """Blank the values of a move; return how many units turn unsafe."""
    turned = 0
    for part in range(moves.begin[t + 1] - 1, moves.begin[t] - 1, -1):
        u = moves.unit[part]
        turned += _change(s, u, s.blank[u] | moves.columns[part])
    return turned


@native("int64*")
def count_units(state: Any) -> None:
    """Count f and F of all watched units."""
    s = state_of(state)
    for v in range(s.sets):
        for u in range(s.units):
            at = v * s.units + u
            if s.limit[at] < 0:
                continue
            s.f[at], s.F[at] = s.gives[4 * u], s.gives[4 * u + 1]
            p = _next(s, v, u, 0, s.blank[u])
            while p < s.units:
                w = s.order[v * s.units + p]
                if w != u:
                    kind = 3 & _kinds(s, v, u, w, s.blank[u], s.blank[w])
                    if kind != 0:
                        s.f[at] += s.gives[4 * w + 4 - 2 * kind]
                        s.F[at] += s.gives[4 * w + 5 - 2 * kind]
                p = _next(s, v, u, p + 1, s.blank[u])


@native("int64*, int64, uint64")
def change_unit(state: Any, u: int, new: Any) -> None:
    """Blank other columns of a unit; write how many units turn unsafe to the tally."""
    s = state_of(state)
    s.tally[0] = _change(s, u, new)


@native("int64*, int64*, uint8*")
def put_back_units(state: Any, given: Any, done: Any) -> None:
    """Put back each move that turns no unit unsafe, and mark it as done."""
    s, moves = state_of(state), moves_of(given)
    for t in range(moves.number):
        if put_back(s, moves, t) == 0:
            done[t] = 1
        else:
            blank(s, moves, t)


@kernel
def _note(
    w: int, first: Any, move_of: Any, done: Any, noted: Any, tried: Any, count: int
) -> int:
    """Add the moves of a unit that may be put back to a list; return its length."""
    for i in range(first[w], first[w + 1]):
        t = move_of[i]
        if done[t] == 0 and noted[t] == 0:
            noted[t] = 1
            tried[count] = t
            count += 1
    return count


@native("int64*, int64*, int64, uint8*, int64*, int64*, int64*, int64*, uint8*")
def exchange_units(
    state: Any,
    given: Any,
    most: int,
    done: Any,
    cost: Any,
    first: Any,
    move_of: Any,
    tried: Any,
    noted: Any,
) -> None:
    """Blank a move again if what can be put back for it is worth more.

    Tried are the moves of units that match more by it, and of units that matched them.
    """
    s, moves = state_of(state), moves_of(given)
    for e in range(moves.number):
        if done[e] == 0:
            continue
        if s.tally[1] > most:
            break
        if blank(s, moves, e) > 0:
            # A record that loses its last key counts for fewer.
            put_back(s, moves, e)
            continue
        done[e] = 0
        noted[e] = 1
        count = 0
        for part in range(moves.begin[e], moves.begin[e + 1]):
            u = moves.unit[part]
            count = _note(u, first, move_of, done, noted, tried, count)
            for v in range(s.sets):
                p = _next(s, v, u, 0, s.blank[u])
                while p < s.units:
                    w = s.order[v * s.units + p]
                    if w != u and s.blank[w] != 0:
                        count = _note(w, first, move_of, done, noted, tried, count)
                    p = _next(s, v, u, p + 1, s.blank[u])
        saved = np.int64(0)
        kept = 0
        for i in range(count):
            t = tried[i]
            noted[t] = 0
            if put_back(s, moves, t) == 0:
                done[t] = 1
                saved += cost[t]
                tried[kept] = t
                kept += 1
            else:
                blank(s, moves, t)
        noted[e] = 0
        if saved > cost[e]:
            continue
        for i in range(kept):
            t = tried[kept - 1 - i]
            done[t] = 0
            blank(s, moves, t)
        put_back(s, moves, e)
        done[e] = 1
