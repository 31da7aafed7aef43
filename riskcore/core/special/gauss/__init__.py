"""The Gauss function of the individual risk, and its proven bounds: where to read what.

A cell (f, p) meets these files in this order; each hands on what it cannot decide.

1. ``blocks`` sorts a block of cells by *region*, a part of the plane with one method;
   ``risk_blocks`` has the methods of the risk.
2. ``fast_integer`` and ``fast_real`` return r as a *pair*, high + low, and a bound of
   its error, proved for each region.
3. ``rounding_test`` tells whether all numbers within that bound round to one double. A
   cell that fails is nan, until the block is done.
4. ``ball_step`` decides these cells by a *ball*, a pair with a radius, which
   ``enclosure`` makes; ``extremes`` has the limits for tiny p.
5. ``fixed_point_step`` decides on which *side* of a double, or of the middle of two, r
   lies, where the ball contains both: with as many words of fixed point as it takes.

Words: a *level* is one quotient of Gauss's continued fraction; *E* is what the fraction
leaves of D = p/r; the *tail* is where it is cut. The *excess* d says that the fraction
is p (1 + d), for f/F; the risk is *moved* there from p. *Beside* a share of q E/D a bound
has a share of r. *Upwards* and *downwards* f changes by contiguity; *reflection* leads
to 1 - f. *Near one* is p from 3/4 on. n counts *scalings*: a ball may be one of r 2^(600
n). notes/correct_rounding.md has the mathematics and the proof.
"""
