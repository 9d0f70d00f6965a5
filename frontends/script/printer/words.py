"""The words of a kernel's script for MLIR ops."""

from legato.dialects.tir.loops import PARALLEL, SERIAL, THREAD, UNROLLED, VECTORIZED
from legato.frontends.script.kernel.intrinsics import ScalarFunction
from legato.frontends.script.kernel.vocabulary import FUNCTIONS

# the precedence of Python's operators, lowest first
OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, MINUS, ATOM = range(12)
INFIX = {"arith.addf": ("+", SUM), "arith.addi": ("+", SUM), "arith.subf": ("-", SUM), "arith.subi": ("-", SUM),
         "arith.mulf": ("*", PRODUCT), "arith.muli": ("*", PRODUCT), "arith.divf": ("/", PRODUCT), "arith.floordivsi": ("//", PRODUCT),
         "arith.shli": ("<<", SHIFT), "arith.shrsi": (">>", SHIFT), "arith.shrui": (">>", SHIFT), "arith.andi": ("&", BIT_AND),
         "arith.ori": ("|", BIT_OR), "arith.xori": ("^", BIT_XOR)}
BOOLEAN = {"arith.andi": ("and", AND), "arith.ori": ("or", OR), "arith.xori": ("!=", COMPARE)}
CASTS = ("arith.index_cast", "arith.index_castui", "arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp", "arith.fptosi",
         "arith.fptoui", "arith.trunci", "arith.extsi", "arith.extui")
COMPARISONS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "ult": "<", "ule": "<=", "ugt": ">", "uge": ">=",
               "oeq": "==", "une": "!=", "olt": "<", "ole": "<=", "ogt": ">", "oge": ">="}
# comparisons of floats that differ from Python's operators for NaN, composed of those that scripts have
COMPOSED = {"ult": ("not {a} >= {b}", NOT), "ule": ("not {a} > {b}", NOT), "ugt": ("not {a} <= {b}", NOT), "uge": ("not {a} < {b}", NOT),
            "one": ("{a} < {b} or {a} > {b}", OR), "ueq": ("not ({a} < {b} or {a} > {b})", NOT), "uno": ("{a} != {a} or {b} != {b}", OR),
            "ord": ("{a} == {a} and {b} == {b}", AND)}
PREDICATES_I = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
PREDICATES_F = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
LOOPS = {SERIAL: "range", PARALLEL: "T.parallel", VECTORIZED: "T.vectorized", UNROLLED: "T.unroll", THREAD: "T.thread_binding"}
# ops that read integers as unsigned, and as signed; for all others the result's bits are the same
UNSIGNED = ("arith.divui", "arith.remui", "arith.shrui", "arith.maxui", "arith.minui", "arith.uitofp", "arith.extui", "arith.index_castui")
SIGNED = ("arith.divsi", "arith.remsi", "arith.shrsi", "arith.maxsi", "arith.minsi", "arith.sitofp", "arith.extsi", "arith.floordivsi",
          "arith.index_cast", "math.absi")


def words_of_ops() -> dict[str, str]:
    """The functions of ``T`` that MLIR ops are printed as, by op name, from the parser's table."""
    return {op: name for name, entry in FUNCTIONS.items() if isinstance(entry, ScalarFunction) for op in entry.ops}
