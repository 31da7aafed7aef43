"""The Gauss function of the individual risk, and its proven bounds: where to read what.

A cell meets these files in this order; each hands on what it cannot decide.

1. ``blocks`` sorts cells by *region*, a part of the plane with one method, for
   ``risk_blocks``. ``fast_integer`` and ``fast_real`` return r as a *pair*, high + low.
2. ``rounding_test``: do all numbers within the pair's bound round to one double?
3. ``ball_step`` decides by a *ball*, a pair with a radius, from ``enclosure``, or for
   tiny p from ``extremes``.
4. ``fixed_point_step``: on which *side* of a double, or of the middle of two, is r?

Words: D = p/r; *E* is Gauss's fraction in D, a *level* one quotient of it, the *tail*
where it is cut; *excess* d: the cell is at p (1 + d), the pair *moved* there from p;
*beside*: a bound's share of r, beside that of E; *upwards*, *downwards*: contiguity, to
f + 1 or f - 1; *reflection*: to 1 - f; *scaled*: by 2^(600 n). The mathematics and the
proof: notes/correct_rounding.md.
"""
