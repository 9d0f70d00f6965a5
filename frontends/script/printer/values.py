"""The values of a kernel as expressions: ops of arith, math and tir."""

from collections.abc import Callable

from legato.core.mlir import ir
from legato.dialects.tir.loops import constant_of
from legato.frontends.script.kernel.values import BITS, integer_type
from legato.frontends.script.printer.remainders import is_inside_remainder, parts_of_remainder
from legato.frontends.script.printer.text import PrintedText, dtype_of, number
from legato.frontends.script.printer.words import (
    ATOM,
    BOOLEAN,
    CASTS,
    COMPARE,
    COMPARISONS,
    COMPOSED,
    INFIX,
    MINUS,
    NOT,
    PREDICATES_F,
    PREDICATES_I,
    PRODUCT,
    SIGNED,
    UNSIGNED,
)
from legato.frontends.script.printer.writer import KernelWriter

LOADED_TRUTH = 'T.Cast("int8", '  # source of the load of a boolean (a byte in memory), before the comparison with 0


def value(writer: KernelWriter, op: ir.Operation) -> None:
    """An op with one result and no region. NotPrintable for an op that scripts lack."""
    name = op.name
    if name == "arith.constant":
        return
    if not name.startswith(("arith.", "math.", "tir.")):
        raise writer.refuse(f"it has {name}")
    if is_inside_remainder(op) or op in writer.skipped:
        return
    if name == "arith.index_cast" and feeds_float(op):
        text = writer.read(op.operands[0])  # T.cast(i, "float32") of an index includes this cast
    elif (parts := parts_of_remainder(op)) is not None:
        text = remainder(writer, op, parts[0])
    else:
        operands = [signed(writer.read(v), name) for v in op.operands]
        text = expression(writer, op, operands)
    writer.remember(op.results[0], text)


def expression(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
    """The expression for an op on these operands."""
    name = op.name
    if name in CASTS:
        return cast(writer, op, operands[0])
    if name in INFIX:
        return infix(writer, op, operands)
    if name in FORMS:
        return FORMS[name](writer, op, operands)
    if name in writer.words:
        arguments = ", ".join(t.source for t in together(operands))
        return PrintedText(f"T.{writer.words[name]}({arguments})", common(operands), reads=reads(operands))
    raise writer.refuse(f"it has {name}")


# --- operands ---

def together(operands: list[PrintedText]) -> list[PrintedText]:
    """Operands of one type: literals are written without type where another operand has it, and a parser takes it from there."""
    if all(t.literal is not None for t in operands):
        return operands
    dtype = common(operands)
    numbers = [number(int(t.literal) % 2**BITS[dtype], dtype) if t.literal and dtype.startswith("uint") else t for t in operands]
    return [t if t.literal and dtype in BITS and BITS[dtype] < BITS[integer_type(int(t.literal))] else t.short() for t in numbers]


def signed(text: PrintedText, name: str) -> PrintedText:
    """An integer as signed or unsigned, as an op reads it."""
    if name in UNSIGNED and text.dtype.startswith("int"):
        return PrintedText(f'T.Cast("u{text.dtype}", {text.source})', f"u{text.dtype}", reads=text.reads)
    if name in SIGNED and text.dtype.startswith("uint") and name != "arith.index_cast":
        return PrintedText(f'T.Cast("{text.dtype[1:]}", {text.source})', text.dtype[1:], reads=text.reads)
    return text


def reads(operands: list[PrintedText]) -> frozenset[str]:
    """The buffers that expressions read."""
    return frozenset().union(*(t.reads for t in operands))


def common(operands: list[PrintedText]) -> str:
    """The common type of operands: a literal takes the other's, an index that of any integer."""
    known = [t.dtype for t in operands if t.literal is None] or [operands[0].dtype]
    return next((d for d in known if d != "index"), "index")


# --- operators ---

def infix(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
    """``a + b``."""
    if dtype_of(op.results[0].type) == "bool":
        return logical(writer, op, *operands)
    sign, binds = INFIX[op.name]
    a, b = together(operands)
    if a.source.startswith("-") and a.binds == ATOM:  # a negative literal
        a = PrintedText(a.source, a.dtype, MINUS, a.reads)
    return PrintedText(f"{a.inside(binds)} {sign} {b.inside(binds + 1)}", common([a, b]), binds, reads(operands))


def logical(writer: KernelWriter, op: ir.Operation, a: PrintedText, b: PrintedText) -> PrintedText:
    """``a and b``, ``a or b``, ``not a``, and ``a != b`` for the exclusive or."""
    if op.name == "arith.xori" and b.source == "True":
        return PrintedText(f"not {a.inside(NOT)}", "bool", NOT, a.reads)
    if op.name not in BOOLEAN:
        raise writer.refuse(f"it has {op.name} on truth values")
    word, binds = BOOLEAN[op.name]
    if word == "!=":
        return PrintedText(f"{a.inside(binds + 1)} != {b.inside(binds + 1)}", "bool", binds, reads([a, b]))
    return PrintedText(f"{a.inside(binds)} {word} {b.inside(binds + 1)}", "bool", binds, reads([a, b]))


def remainder(writer: KernelWriter, op: ir.Operation, product: ir.Operation) -> PrintedText:
    """``x % n``."""
    x, n = writer.read(op.operands[0]), writer.read(product.operands[1])
    a, b = together([signed(x, "arith.floordivsi"), n])
    return PrintedText(f"{a.inside(PRODUCT)} % {b.inside(PRODUCT + 1)}", x.dtype, PRODUCT, reads([x, n]))


# --- casts ---

def cast(writer: KernelWriter, op: ir.Operation, x: PrintedText) -> PrintedText:
    """``T.Cast("int32", x)``; nothing for a cast that scripts do implicitly."""
    name, dtype = op.name, dtype_of(op.results[0].type)
    if name == "arith.extui" and x.dtype == "bool" and is_stored_truth(writer, op):
        return x
    if dtype == "index":
        return x if x.dtype in ("int64", "uint64") else widened(op, x)
    if dtype == "bool":
        return PrintedText(f"{together([x, number(1, x.dtype)])[0].inside(PRODUCT)} % 2 != 0", "bool", COMPARE, x.reads)
    if name in ("arith.fptoui", "arith.index_castui") or (x.dtype.startswith("uint") and name == "arith.trunci"):
        dtype = f"u{dtype}"
    if name == "arith.extsi" and x.dtype == "bool":
        return PrintedText(f"T.Select({x.source}, T.{dtype}(-1), T.{dtype}(0))", dtype, reads=x.reads)
    if name == "arith.extui" and x.dtype.startswith("uint"):
        dtype = f"u{dtype}"
    return PrintedText(f'T.Cast("{dtype}", {x.source})', dtype, reads=x.reads)


def is_stored_truth(writer: KernelWriter, op: ir.Operation) -> bool:
    """Whether a boolean is cast to a byte only to be stored in a buffer of booleans."""
    users = [use.owner.operation for use in op.results[0].uses]
    return len(users) == 1 and users[0].name == "memref.store" and writer.dtypes.get(users[0].operands[1]) == "bool"


def widened(op: ir.Operation, x: PrintedText) -> PrintedText:
    """An integer cast to an index: unchanged where it is only used as an index, else widened to an index's bits."""
    users = [use.owner.operation.name for use in op.results[0].uses]
    if all(u in ("memref.load", "memref.store", "tir.block", "tir.for") for u in users) and len(users) == 1:
        return x
    wide = "uint64" if op.name == "arith.index_castui" else "int64"
    return PrintedText(f'T.Cast("{wide}", {x.source})', "int64", reads=x.reads)


def feeds_float(op: ir.Operation) -> bool:
    """Whether an index is cast to an i64 only to be cast to a float."""
    users = [use.owner.operation for use in op.results[0].uses]
    return isinstance(op.operands[0].type, ir.IndexType) and str(op.results[0].type) == "i64" and len(users) == 1 and (
        users[0].name == "arith.sitofp")


# --- ops with special forms ---

def compare_integers(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
    """``a < b``; for a byte of a buffer of booleans compared with 0, only the load."""
    number_ = op.attributes["predicate"].value
    owner = op.operands[0].owner
    if PREDICATES_I[number_] == "ne" and constant_of(op.operands[1]) == 0 and operands[0].source.startswith(LOADED_TRUTH) and (
            not isinstance(owner, ir.Block) and owner.name == "memref.load" and writer.dtypes.get(owner.operands[0]) == "bool"):
        return PrintedText(operands[0].source.removeprefix(LOADED_TRUTH)[:-1], "bool", reads=operands[0].reads)
    predicate = PREDICATES_I[number_]
    kind = {"u": "arith.divui", "s": "arith.divsi"}.get(predicate[0], "")
    a, b = together([signed(t, kind) for t in operands])
    return PrintedText(f"{a.inside(COMPARE + 1)} {COMPARISONS[predicate]} {b.inside(COMPARE + 1)}", "bool", COMPARE, reads([a, b]))


def compare_floats(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
    """``a < b``, or several comparisons where the result for NaN differs."""
    predicate = PREDICATES_F[op.attributes["predicate"].value]
    a, b = together(operands)
    if (predicate in COMPARISONS and not predicate.startswith("u")) or predicate == "une":
        return PrintedText(f"{a.inside(COMPARE + 1)} {COMPARISONS[predicate]} {b.inside(COMPARE + 1)}", "bool", COMPARE, reads([a, b]))
    if predicate not in COMPOSED:
        return PrintedText(str(predicate == "true"), "bool")
    if predicate in ("uno", "ord") and op.operands[0] == op.operands[1]:
        none = PrintedText(f"T.isnan({a.source})", "bool", reads=a.reads)
        return none if predicate == "uno" else PrintedText(f"not {none.source}", "bool", NOT, a.reads)
    form, binds = COMPOSED[predicate]
    return PrintedText(form.format(a=a.inside(COMPARE + 1), b=b.inside(COMPARE + 1)), "bool", binds, reads([a, b]))


def select(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
    """``T.Select(test, a, b)``."""
    test, *branches = operands
    chosen = ", ".join(t.source for t in together(branches))
    return PrintedText(f"T.Select({test.source}, {chosen})", common(branches), reads=reads(operands))


def negate(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
    """``-a``."""
    return PrintedText(f"-{operands[0].inside(MINUS)}", operands[0].dtype, MINUS, operands[0].reads)


def bitcast(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
    """``T.reinterpret("int32", a)``."""
    dtype = dtype_of(op.results[0].type)
    return PrintedText(f'T.reinterpret("{dtype}", {operands[0].source})', dtype, reads=operands[0].reads)


def ceil_divide(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
    """``T.ceildiv(a, b)``, which is right for a positive b only."""
    if (constant_of(op.operands[1]) or 0) < 1:
        raise writer.refuse("it has arith.ceildivsi by what is no positive number")
    a, b = together(operands)
    return PrintedText(f"T.ceildiv({a.source}, {b.source})", operands[0].dtype, reads=reads(operands))


def of_numbers(word: str) -> Callable[[KernelWriter, ir.Operation, list[PrintedText]], PrintedText]:
    """The larger or smaller of two floats; where one is NaN, the other."""
    def form(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
        a, b = (t.source for t in operands)
        chosen = f"T.Select(T.isnan({a}), {b}, T.Select(T.isnan({b}), {a}, {word}({a}, {b})))"
        return PrintedText(chosen, operands[0].dtype, reads=reads(operands))

    return form


def round_away(writer: KernelWriter, op: ir.Operation, operands: list[PrintedText]) -> PrintedText:
    """The nearest whole number, of two the one away from 0; ``T.round`` takes the even one."""
    x, whole = operands[0].source, f"T.trunc({operands[0].source})"
    chosen = f"T.Select(T.fabs({operands[0].inside(PRODUCT)} - {whole}) < 0.5, {whole}, {whole} + T.copysign(1.0, {x}))"
    return PrintedText(chosen, operands[0].dtype, reads=operands[0].reads)


FORMS: dict[str, Callable[[KernelWriter, ir.Operation, list[PrintedText]], PrintedText]] = {
    "arith.cmpi": compare_integers, "arith.cmpf": compare_floats, "arith.select": select, "arith.negf": negate, "arith.bitcast": bitcast,
    "arith.ceildivsi": ceil_divide, "arith.maxnumf": of_numbers("T.max"), "arith.minnumf": of_numbers("T.min"),
    "math.round": round_away,
}
