"""The tvm-ffi entry of a compiled model: checks of arguments, memory, results, errors, calls of packed functions.

- ``library.py``: the functions that all models share. They are written as native functions (codegen/native), one subject a file:
  ``instance``, ``call``, ``check``, ``arenas``, ``results``, ``messages``, ``describe``, ``values``; for packed functions ``packed``;
  for calls whose sizes depend on data ``frame``, ``returned``, ``copies``.
- ``model.py``: what is made for each model: constant tables, and the call of main.
- ``layouts.py``: the structs that both know. ``abi.py``: those of DLPack and tvm-ffi.

The functions are generic over the tables, so they are compiled once in a process. They are not written in MLIR's own text because most of
them read structs in foreign memory and leave early: ``scf`` has no early exit. Taking an arena, 21 lines of code here, takes 44 in the
LLVM dialect and 62 in ``scf``.
"""
