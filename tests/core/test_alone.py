"""The function is a library by itself: no other wing is needed."""

import shutil
from pathlib import Path

import riskcore

PACKAGE = Path(riskcore.__file__).parent
NEEDED = ("__init__.py", "__init__.pyi", "forms.py", "embed.py", "common", "core")


def test_core_works_with_the_other_wings_taken_away(python, tmp_path):
    for name in NEEDED:
        source, target = PACKAGE / name, tmp_path / "riskcore" / name
        target.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.pyc"))
        else:
            shutil.copy(source, target)
    code = f"""
import pkgutil
from importlib import import_module
import riskcore
assert riskcore.__file__.startswith({str(tmp_path)!r}), riskcore.__file__
for found in pkgutil.walk_packages(riskcore.__path__, "riskcore."):
    import_module(found.name)
from riskcore.embed import c_function
print(riskcore.individual_risk(3, 0.1), riskcore.forms.closed_form(3, 0.5))
print(c_function("individual_risk")(3.0, 0.1))
"""
    alone = python(code, path=tmp_path).split()
    here = [riskcore.individual_risk(3, 0.1), riskcore.forms.closed_form(3, 0.5)]
    assert alone == [str(each) for each in (*here, here[0])]
