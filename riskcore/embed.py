"""The ufuncs as C function pointers: the public names of `core.embed`."""

from riskcore.core.embed import NAMES as NAMES
from riskcore.core.embed import CFunction as CFunction
from riskcore.core.embed import c_array_function as c_array_function
from riskcore.core.embed import c_function as c_function
from riskcore.core.embed import c_integrand as c_integrand

__all__ = ["NAMES", "CFunction", "c_array_function", "c_function", "c_integrand"]
