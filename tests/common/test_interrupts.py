"""Ctrl-C where C code would swallow it."""

import pytest

COMPILING = """
import os, signal, time
from riskcore.common.interrupts import uninterrupted
signal.signal(signal.SENT, signal.HANDLER)
try:
    with uninterrupted(in_callback=LATER):
        os.kill(os.getpid(), signal.SENT)
        print("worked")
    if LATER:
        print("ended")
        time.sleep(1)
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
"""

# pyarrow imports pandas when it makes its first value.
IMPORTING = """
import sys, warnings
sys.path.insert(0, FOLDER)
warnings.simplefilter("ignore")  # so old a pandas
try:
    from riskcore.data.files.arrow import import_pyarrow
    import_pyarrow().scalar(1)
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
assert "pandas" in sys.modules
"""
# As its compiled modules do.
PANDAS = """
import os, signal
__version__ = "0.1"
try:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass
except BaseException:
    pass
"""


@pytest.mark.parametrize(
    ("sent", "handler", "end"),
    [
        ("SIGINT", "default_int_handler", "interrupted"),
        ("SIGTERM", "default_int_handler", "interrupted"),
        ("SIGINT", "SIG_IGN", "lost"),
    ],
)
def test_a_signal_is_heard_after_the_block(python, sent, handler, end):
    code = COMPILING.replace("SENT", sent).replace("HANDLER", handler)
    assert python(code.replace("LATER", "False")).split() == ["worked", end]


def test_a_signal_is_heard_after_the_callback(python):
    code = COMPILING.replace("SENT", "SIGINT").replace("HANDLER", "default_int_handler")
    found = python(code.replace("LATER", "True")).split()
    assert found == ["worked", "ended", "interrupted"]


def test_ctrl_c_while_pyarrow_imports_pandas_is_heard(python, tmp_path):
    (tmp_path / "pandas.py").write_text(PANDAS)
    code = IMPORTING.replace("FOLDER", repr(str(tmp_path)))
    assert python(code).split() == ["interrupted"]
