"""What importing costs, and that every public name is there."""

import pytest

import riskcore
from riskcore.core import published_forms as forms

HEAVY = ["numba", "llvmlite", "pandas", "polars", "pyarrow", "narwhals", "numpy"]


def test_import_is_light_and_lists_all_names(python):
    code = "import sys, riskcore; print(*dir(riskcore)); print(*sys.modules)"
    listed, loaded = (set(line.split()) for line in python(code).splitlines())
    assert set(riskcore.__all__) <= listed
    assert {"individual_risk", "tabulate", "assess", "forms"} <= listed
    assert "riskcore" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize("module", [riskcore, forms])
def test_every_public_name_resolves(module):
    for name in module.__all__:
        value = getattr(module, name)
        assert getattr(value, "__doc__", None), name
        assert getattr(module, name) is value


@pytest.mark.parametrize("module", [riskcore, forms])
def test_an_unknown_name_is_an_attribute_error(module):
    with pytest.raises(AttributeError, match="nonsense"):
        _ = module.nonsense


def test_the_first_call_of_a_warm_process_needs_no_compiler(python):
    # How long it takes is measured in bench/bench_startup.py.
    riskcore.individual_risk(3, 0.1)
    code = "import sys, riskcore; riskcore.individual_risk(3, 0.1)"
    assert python(f"{code}; print('numba' in sys.modules)") == "False"


def test_a_command_loads_only_what_it_needs(python):
    loaded = set(python("import sys, riskcore.cli; print(*sys.modules)").split())
    assert "riskcore.cli.assess" in loaded
    assert loaded.isdisjoint([*HEAVY, "mpmath", "jinja2", "riskcore.simulate"])


@pytest.mark.parametrize("library", ["numba", "llvmlite"])
def test_without_a_compiler_the_message_says_what_to_install(python, library):
    code = f"""
import sys
sys.modules["{library}"] = None
import riskcore
try:
    riskcore.individual_risk(1, 0.1)
except ImportError as error:
    print(error)
"""
    said = "riskcore has no machine code for this platform: pip install 'riskcore[jit]'"
    assert python(code).strip() == said
