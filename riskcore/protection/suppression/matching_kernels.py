"""The kernels of `matching`: changes of what is blanked, and of f and F by them.

All take the same state first: ``units`` units, ``sets`` sets of keys of at most ``M``
keys each, and by how many bits f is finer than the table of the least F. Then, for each
set and unit, ``code`` (-1 is missing), the sorted list ``key`` of the codes with -1
where a key may be blanked, ``after``, where the list goes on once a key differs, and
``order``, whose they are; for each set ``bits``, the masks of its keys, and ``shape``:
how many keys, whether records without any key are apart, where its table of the least F
begins, and how long a row of it is. ``gives`` has what each unit counts: f and F where
it surely matches, then where it does perhaps. ``limit`` is the row of the table, -1 of
units that are not watched. What changes is ``blank``, f and F; ``tally`` has how many
turned unsafe, and the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.core.compiled.jit import kernel, native

# What all kernels take: sizes, what stays, and what changes.
STATE = (
    "int64, int64, int64, int64, int32*, int32*, int32*, int32*, uint64*, int64*, "
    "int64*, int32*, int64*, uint64*, int64*, int64*, int64*"
)


@kernel
def is_safe(
    v: int,
    u: int,
    units: int,
    shift: int,
    shape: Any,
    limit: Any,
    least: Any,
    f: Any,
    F: Any,
) -> bool:
    """Whether a watched unit is below its limit."""
    at = v * units + u
    row = limit[at]
    if row < 0:
        return True
    most = shape[4 * v + 3] - 1
    i = f[at] >> shift
    if i > most:
        i = most
    enough: bool = F[at] >= least[shape[4 * v + 2] + row * (most + 1) + i]
    return enough


@kernel
def _kinds(
    v: int,
    u: int,
    w: int,
    units: int,
    M: int,
    m: int,
    apart: int,
    code: Any,
    bits: Any,
    blank_u: Any,
    blank_w: Any,
) -> int:
    """Return how w counts for u, and u for w: 0 not, 1 perhaps, 2 surely; u + 4 w."""
    same = True
    full_u, full_w, any_u, any_w = True, True, False, False
    row_u, row_w, row = (v * units + u) * M, (v * units + w) * M, v * M
    for k in range(m):
        a, b = code[row_u + k], code[row_w + k]
        if blank_u & bits[row + k] != 0:
            a = -1
        if blank_w & bits[row + k] != 0:
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
    for_u, for_w = 1, 1
    if full_w or not any_u:
        for_u = 2
    elif apart != 0 and full_u and not any_w:
        for_u = 0
    if full_u or not any_w:
        for_w = 2
    elif apart != 0 and full_w and not any_u:
        for_w = 0
    return for_u + 4 * for_w


@kernel
def _next(
    v: int,
    u: int,
    p: int,
    units: int,
    M: int,
    m: int,
    code: Any,
    key: Any,
    after: Any,
    bits: Any,
    blank: Any,
    tally: Any,
) -> int:
    """Return the first place from p on of a unit that may match u; U if none."""
    while p < units:
        at = (v * units + p) * M
        k = 0
        while k < m:
            b = key[at + k]
            if b >= 0 and blank & bits[v * M + k] == 0:
                a = code[(v * units + u) * M + k]
                if a >= 0 and a != b:
                    break
            k += 1
        tally[1] += 1
        if k == m:
            return p
        p = after[at + k]
    return units


@kernel
def _change(
    units: int,
    sets: int,
    M: int,
    shift: int,
    code: Any,
    key: Any,
    after: Any,
    order: Any,
    bits: Any,
    shape: Any,
    gives: Any,
    limit: Any,
    least: Any,
    blank: Any,
    f: Any,
    F: Any,
    tally: Any,
    u: int,
    new: Any,
) -> int:
    """Change what is blanked of a unit; return how many units turn unsafe."""
    old = blank[u]
    turned = 0
    for v in range(sets):
        own = np.uint64(0)
        m = shape[4 * v]
        for k in range(m):
            own |= bits[v * M + k]
        if (old ^ new) & own == 0:
            continue
        total_f, total_weight = gives[4 * u], gives[4 * u + 1]
        p = _next(v, u, 0, units, M, m, code, key, after, bits, old | new, tally)
        while p < units:
            w = order[v * units + p]
            if w != u:
                apart = shape[4 * v + 1]
                before = _kinds(v, u, w, units, M, m, apart, code, bits, old, blank[w])
                now = _kinds(v, u, w, units, M, m, apart, code, bits, new, blank[w])
                kind = now & 3
                if kind != 0:
                    total_f += gives[4 * w + 4 - 2 * kind]
                    total_weight += gives[4 * w + 5 - 2 * kind]
                before, now = before >> 2, now >> 2
                at = v * units + w
                if before != now and limit[at] >= 0:
                    safe = is_safe(v, w, units, shift, shape, limit, least, f, F)
                    if before != 0:
                        f[at] -= gives[4 * u + 4 - 2 * before]
                        F[at] -= gives[4 * u + 5 - 2 * before]
                    if now != 0:
                        f[at] += gives[4 * u + 4 - 2 * now]
                        F[at] += gives[4 * u + 5 - 2 * now]
                    if safe and not is_safe(
                        v, w, units, shift, shape, limit, least, f, F
                    ):
                        turned += 1
            p = _next(
                v, u, p + 1, units, M, m, code, key, after, bits, old | new, tally
            )
        if limit[v * units + u] >= 0:
            safe = is_safe(v, u, units, shift, shape, limit, least, f, F)
            f[v * units + u], F[v * units + u] = total_f, total_weight
            if safe and not is_safe(v, u, units, shift, shape, limit, least, f, F):
                turned += 1
    blank[u] = new
    return turned


@native(STATE)
def count_units(
    units: int,
    sets: int,
    M: int,
    shift: int,
    code: Any,
    key: Any,
    after: Any,
    order: Any,
    bits: Any,
    shape: Any,
    gives: Any,
    limit: Any,
    least: Any,
    blank: Any,
    f: Any,
    F: Any,
    tally: Any,
) -> None:
    """Count f and F of all watched units."""
    for v in range(sets):
        m = shape[4 * v]
        for u in range(units):
            at = v * units + u
            if limit[at] < 0:
                continue
            f[at], F[at] = gives[4 * u], gives[4 * u + 1]
            p = _next(v, u, 0, units, M, m, code, key, after, bits, blank[u], tally)
            while p < units:
                w = order[v * units + p]
                if w != u:
                    kind = 3 & _kinds(
                        v,
                        u,
                        w,
                        units,
                        M,
                        m,
                        shape[4 * v + 1],
                        code,
                        bits,
                        blank[u],
                        blank[w],
                    )
                    if kind != 0:
                        f[at] += gives[4 * w + 4 - 2 * kind]
                        F[at] += gives[4 * w + 5 - 2 * kind]
                p = _next(
                    v, u, p + 1, units, M, m, code, key, after, bits, blank[u], tally
                )


@native(f"{STATE}, int64, uint64")
def change_unit(
    units: int,
    sets: int,
    M: int,
    shift: int,
    code: Any,
    key: Any,
    after: Any,
    order: Any,
    bits: Any,
    shape: Any,
    gives: Any,
    limit: Any,
    least: Any,
    blank: Any,
    f: Any,
    F: Any,
    tally: Any,
    u: int,
    new: Any,
) -> None:
    """Change what is blanked of a unit; in the tally, how many turn unsafe."""
    tally[0] = _change(
        units,
        sets,
        M,
        shift,
        code,
        key,
        after,
        order,
        bits,
        shape,
        gives,
        limit,
        least,
        blank,
        f,
        F,
        tally,
        u,
        new,
    )


@kernel
def give(
    units: int,
    sets: int,
    M: int,
    shift: int,
    code: Any,
    key: Any,
    after: Any,
    order: Any,
    bits: Any,
    shape: Any,
    gives: Any,
    limit: Any,
    least: Any,
    blank: Any,
    f: Any,
    F: Any,
    tally: Any,
    start: int,
    stop: int,
    unit: Any,
    columns: Any,
    take: int,
) -> int:
    """Put the parts of a move back, or take them again; return who turns unsafe."""
    turned = 0
    for part in range(start, stop):
        at = part if take == 0 else stop - 1 - (part - start)
        u = unit[at]
        new = blank[u] | columns[at]
        if take == 0:
            new = blank[u] & ~columns[at]
        turned += _change(
            units,
            sets,
            M,
            shift,
            code,
            key,
            after,
            order,
            bits,
            shape,
            gives,
            limit,
            least,
            blank,
            f,
            F,
            tally,
            u,
            new,
        )
    return turned


@native(f"{STATE}, int64*, int64*, uint64*, int64, int64, uint8*")
def put_back_units(
    units: int,
    sets: int,
    M: int,
    shift: int,
    code: Any,
    key: Any,
    after: Any,
    order: Any,
    bits: Any,
    shape: Any,
    gives: Any,
    limit: Any,
    least: Any,
    blank: Any,
    f: Any,
    F: Any,
    tally: Any,
    begin: Any,
    unit: Any,
    columns: Any,
    moves: int,
    most: int,
    made: Any,
) -> None:
    """Make each move that turns no unit unsafe."""
    for t in range(moves):
        if tally[1] > most:
            break
        turned = give(
            units,
            sets,
            M,
            shift,
            code,
            key,
            after,
            order,
            bits,
            shape,
            gives,
            limit,
            least,
            blank,
            f,
            F,
            tally,
            begin[t],
            begin[t + 1],
            unit,
            columns,
            0,
        )
        if turned == 0:
            made[t] = 1
        else:
            give(
                units,
                sets,
                M,
                shift,
                code,
                key,
                after,
                order,
                bits,
                shape,
                gives,
                limit,
                least,
                blank,
                f,
                F,
                tally,
                begin[t],
                begin[t + 1],
                unit,
                columns,
                1,
            )


@kernel
def _note(
    w: int, first: Any, move_of: Any, made: Any, noted: Any, tried: Any, count: int
) -> int:
    """Add the moves of a unit that may be put back to a list."""
    for i in range(first[w], first[w + 1]):
        t = move_of[i]
        if made[t] == 0 and noted[t] == 0:
            noted[t] = 1
            tried[count] = t
            count += 1
    return count


@native(
    f"{STATE}, int64*, int64*, uint64*, int64, int64, uint8*, int64*, int64*, int64*, "
    "int32*, int32*, int64*, uint8*"
)
def exchange_units(
    units: int,
    sets: int,
    M: int,
    shift: int,
    code: Any,
    key: Any,
    after: Any,
    order: Any,
    bits: Any,
    shape: Any,
    gives: Any,
    limit: Any,
    least: Any,
    blank: Any,
    f: Any,
    F: Any,
    tally: Any,
    begin: Any,
    unit: Any,
    columns: Any,
    moves: int,
    most: int,
    made: Any,
    cost: Any,
    first: Any,
    move_of: Any,
    mark: Any,
    near: Any,
    tried: Any,
    noted: Any,
) -> None:
    """Take a move back if the moves that this allows are worth more.

    Allowed are those of units that match more by it, and of units that matched them.
    """
    for e in range(moves):
        if made[e] == 0:
            continue
        if tally[1] > most:
            break
        turned = give(
            units,
            sets,
            M,
            shift,
            code,
            key,
            after,
            order,
            bits,
            shape,
            gives,
            limit,
            least,
            blank,
            f,
            F,
            tally,
            begin[e],
            begin[e + 1],
            unit,
            columns,
            1,
        )
        if turned > 0:
            # A record that loses its last key counts for fewer.
            give(
                units,
                sets,
                M,
                shift,
                code,
                key,
                after,
                order,
                bits,
                shape,
                gives,
                limit,
                least,
                blank,
                f,
                F,
                tally,
                begin[e],
                begin[e + 1],
                unit,
                columns,
                0,
            )
            continue
        made[e] = 0
        noted[e] = 1
        count = 0
        for part in range(begin[e], begin[e + 1]):
            u = unit[part]
            count = _note(u, first, move_of, made, noted, tried, count)
            for v in range(sets):
                m = shape[4 * v]
                p = _next(v, u, 0, units, M, m, code, key, after, bits, blank[u], tally)
                while p < units:
                    w = order[v * units + p]
                    if w != u and blank[w] != 0:
                        count = _note(w, first, move_of, made, noted, tried, count)
                    p = _next(
                        v,
                        u,
                        p + 1,
                        units,
                        M,
                        m,
                        code,
                        key,
                        after,
                        bits,
                        blank[u],
                        tally,
                    )
        saved = np.int64(0)
        kept = 0
        for i in range(count):
            t = tried[i]
            noted[t] = 0
            turned = give(
                units,
                sets,
                M,
                shift,
                code,
                key,
                after,
                order,
                bits,
                shape,
                gives,
                limit,
                least,
                blank,
                f,
                F,
                tally,
                begin[t],
                begin[t + 1],
                unit,
                columns,
                0,
            )
            if turned == 0:
                made[t] = 1
                saved += cost[t]
                tried[kept] = t
                kept += 1
            else:
                give(
                    units,
                    sets,
                    M,
                    shift,
                    code,
                    key,
                    after,
                    order,
                    bits,
                    shape,
                    gives,
                    limit,
                    least,
                    blank,
                    f,
                    F,
                    tally,
                    begin[t],
                    begin[t + 1],
                    unit,
                    columns,
                    1,
                )
        noted[e] = 0
        if saved > cost[e]:
            continue
        for i in range(kept):
            t = tried[kept - 1 - i]
            made[t] = 0
            give(
                units,
                sets,
                M,
                shift,
                code,
                key,
                after,
                order,
                bits,
                shape,
                gives,
                limit,
                least,
                blank,
                f,
                F,
                tally,
                begin[t],
                begin[t + 1],
                unit,
                columns,
                1,
            )
        give(
            units,
            sets,
            M,
            shift,
            code,
            key,
            after,
            order,
            bits,
            shape,
            gives,
            limit,
            least,
            blank,
            f,
            F,
            tally,
            begin[e],
            begin[e + 1],
            unit,
            columns,
            0,
        )
        made[e] = 1
