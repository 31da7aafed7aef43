"""Build the module: python setup.py build_ext --inplace, beside riskcore.c."""

from Cython.Build import cythonize
from setuptools import Extension, setup

cells = Extension("cells", ["cells.pyx", "riskcore.c"], libraries=["m"])
setup(name="cells", ext_modules=cythonize([cells]))
