"""Calls on threads, and Ctrl-C at each moment of them."""

import pytest

from riskcore.common.threads import in_threads


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_stand_in_the_order_of_the_calls(threads):
    calls = [(i, 2) for i in range(100)]
    assert in_threads(threads, pow, calls) == [i * i for i in range(100)]
    assert in_threads(threads, pow, []) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failure_is_raised_and_ends_the_rest(threads):
    begun = []

    def fail(i):
        begun.append(i)
        raise LookupError(i)

    with pytest.raises(LookupError):
        in_threads(threads, fail, [(i,) for i in range(100)])
    assert len(begun) <= threads


# Ctrl-C comes at event number 1, 2, ... of the main thread: when a function begins or
# ends, of Python or of C. A lock that is taken in Python stays taken at some of these.
INTERRUPTED = """
import faulthandler, sys
from riskcore.common.threads import in_threads
faulthandler.dump_traceback_later(100, exit=True)
begun = []

def work(i):
    begun.append(i)

def interrupt(frame, event, argument):
    global left
    left -= 1
    if left == 0:
        sys.setprofile(None)
        raise KeyboardInterrupt

event = 0
stopped = True
while stopped:
    event += 1
    left = event
    stopped = False
    begun.clear()
    try:
        sys.setprofile(interrupt)
        in_threads(2, work, [(i,) for i in range(4)])
        left = 0  # the next line is an event, too
        sys.setprofile(None)
    except KeyboardInterrupt:
        stopped = True
assert sorted(begun) == [0, 1, 2, 3]
assert event > 10, event
"""


def test_ctrl_c_at_any_moment_hangs_nothing(python):
    python(INTERRUPTED)
