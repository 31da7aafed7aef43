"""Ctrl-C where C code would swallow it."""

COMPILING = """
import os, signal
from riskcore.common.interrupts import uninterrupted
try:
    with uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        print("worked")
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


def test_ctrl_c_is_heard_after_the_block(python):
    assert python(COMPILING).split() == ["worked", "interrupted"]


def test_so_is_sigterm_by_its_own_handler(python):
    heard = "signal.signal(signal.SIGTERM, signal.default_int_handler)\ntry:"
    code = COMPILING.replace("try:", heard, 1).replace("SIGINT)", "SIGTERM)")
    assert python(code).split() == ["worked", "interrupted"]


def test_what_is_ignored_stays_ignored(python):
    ignored = "signal.signal(signal.SIGINT, signal.SIG_IGN)\ntry:"
    code = COMPILING.replace("try:", ignored, 1)
    assert python(code).split() == ["worked", "lost"]


def test_ctrl_c_while_pyarrow_imports_pandas_is_heard(python, tmp_path):
    (tmp_path / "pandas.py").write_text(PANDAS)
    code = IMPORTING.replace("FOLDER", repr(str(tmp_path)))
    assert python(code).split() == ["interrupted"]
