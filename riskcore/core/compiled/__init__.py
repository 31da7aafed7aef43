"""Compilation: Numba, LLVM, the cache of machine code, ufuncs, contracts."""
