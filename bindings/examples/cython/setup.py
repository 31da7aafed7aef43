"""Build the module cells: python setup.py build_ext --inplace."""

from Cython.Build import cythonize
from setuptools import Extension, setup

cells = Extension("cells", ["cells.pyx"], extra_objects=["riskcore.o"], libraries=["m"])
setup(name="cells", ext_modules=cythonize([cells]))
