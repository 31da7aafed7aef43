"""Ctrl-C is heard in calls of ufuncs, also in those that would take hours."""

BEGIN = """
import os, signal, threading, time
import numpy as np
import riskcore
from numpy.lib.stride_tricks import as_strided

signal.signal(signal.SIGINT, signal.default_int_handler)
risk, bounds = riskcore.individual_risk, riskcore.individual_risk_bounds
p = 1 - 2.0**-53

def press(seconds=0.2):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
"""
# NumPy calls the loop for all cells, or for each buffer or run of a mask, and goes on
# after the exception. Most cells are in the same place.
ENDLESS = """
def many(x, n=10**12):
    return as_strided(np.array([x]), (n,), (0,))

calls = {
    "whole": lambda: risk(many(1.0), p, out=many(0.0)),
    "two": lambda: bounds(many(4.0), p, out=(many(0.0), many(0.0))),
    "single": lambda: risk(many(np.float32(1)), p, out=many(np.float32(0))),
    "buffers": lambda: risk.reduce(many(np.float32(0.9), 10**9), dtype=float),
    "mask": lambda: risk(np.ones(10**7), p, where=np.arange(10**7) % 2 > 0, out=None),
    "accumulate": lambda: risk.accumulate(many(p), out=many(0.0)),
}
for name, call in calls.items():
    press()
    try:
        call()
    except KeyboardInterrupt:
        print(name, *risk([1.0, 2.0], [1.0, 1.0]))
"""
HANDLED = """
f, out, handled = np.ones(200_000), np.empty(200_000), []
signal.signal(signal.SIGALRM, lambda *_: handled.append(out[-1] == 0.0))
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
while not any(handled):  # while the loop ran
    out[:] = 0.0
    risk(f, p, out=out)
    assert (out == risk(1.0, p)).all()
signal.setitimer(signal.ITIMER_REAL, 0.0)

def work():
    risk(f, p, out=out)
    done.append(1)

out[:], done = 0.0, []
press(0.1)
threading.Thread(target=work).start()
try:
    while not done:
        time.sleep(0.01)
    signal.pause()
except KeyboardInterrupt:
    while not done:
        time.sleep(0.01)
print((out == risk(1.0, p)).all())
"""


def test_endless_calls_end(python):
    found = python(BEGIN + ENDLESS).splitlines()
    names = ["whole", "two", "single", "buffers", "mask", "accumulate"]
    assert found == [f"{name} 1.0 0.5" for name in names]


def test_calls_that_are_not_to_end_go_on(python):
    assert python(BEGIN + HANDLED) == "True"
