"""The words of a kernel's script for the ops of MLIR."""

from ...dialects.tir.loops import PARALLEL, SERIAL, THREAD, UNROLLED, VECTORIZED
from .intrinsics import BINARY_FLOAT, UNARY_FLOAT

INFIX = {"arith.addf": "+", "arith.addi": "+", "arith.subf": "-", "arith.subi": "-", "arith.mulf": "*", "arith.muli": "*",
         "arith.divf": "/", "arith.floordivsi": "//", "arith.shli": "<<", "arith.shrsi": ">>", "arith.shrui": ">>", "arith.andi": "&",
         "arith.ori": "|",
         "arith.xori": "^"}
CALLS = {"arith.maximumf": "T.max", "arith.maxsi": "T.max", "arith.maxui": "T.max", "arith.minimumf": "T.min", "arith.minsi": "T.min",
         "arith.minui": "T.min", "arith.divsi": "T.truncdiv", "arith.divui": "T.truncdiv", "arith.remsi": "T.truncmod",
         "arith.remui": "T.truncmod", "arith.remf": "T.fmod", "math.absf": "T.abs", "math.absi": "T.abs",
         **{op.OPERATION_NAME: f"T.{name}" for table in (UNARY_FLOAT, BINARY_FLOAT) for name, op in reversed(table.items())}}
CASTS = ("arith.index_cast", "arith.index_castui", "arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp", "arith.fptosi",
         "arith.fptoui", "arith.trunci", "arith.extsi", "arith.extui")
COMPARISONS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "ult": "<", "ule": "<=", "ugt": ">", "uge": ">=",
               "oeq": "==", "une": "!=", "olt": "<", "ole": "<=", "ogt": ">", "oge": ">="}
PREDICATES_I = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
PREDICATES_F = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
LOOPS = {SERIAL: "T.serial", PARALLEL: "T.parallel", VECTORIZED: "T.vectorized", UNROLLED: "T.unroll", THREAD: "T.thread_binding"}
UNSIGNED = ("arith.divui", "arith.remui", "arith.shrui", "arith.maxui", "arith.minui", "arith.fptoui")
