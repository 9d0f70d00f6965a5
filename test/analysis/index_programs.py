"""Random index arithmetic in loops, and what it computes by the words of the arith and affine dialects."""
from dataclasses import dataclass, field
from itertools import product
from random import Random

from legato.core.mlir import arith, func, ir
from legato.dialects.tir.loops import make_for

WIDTHS = {"index": 64, "i64": 64, "i32": 32, "i8": 8, "i1": 1}
BINARY = ("addi", "subi", "muli", "floordivsi", "ceildivsi", "divsi", "remsi", "divui", "ceildivui", "remui", "minsi", "maxsi", "minui",
          "maxui", "andi", "ori", "xori", "shli", "shrsi", "shrui")
SIMPLE = ("addi", "subi", "muli", "floordivsi", "divui", "remui", "addi", "muli", "subi")   # what most kernels have
AFFINE = ("d0 + d1", "d0 * 3 - d1", "d0 floordiv 4", "d0 mod 4 + d1", "d0 ceildiv 3", "(d0 - d1) mod 5", "(d0 * 8 + d1) floordiv 8",
          "-d0 floordiv 2 + s0", "d0 - (d1 floordiv 2) * 2")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


class UndefinedError(Exception):
    """A division by 0, a shift by too much, or a number that 64 bits do not hold."""


@dataclass
class Program:
    """A function with loops around each other. ``ranges``: the variables, and what they take; ``values``: what was computed inside."""

    module: ir.Module
    ranges: dict[ir.Value, range]
    parameters: list[ir.Value]
    values: list[ir.Value] = field(default_factory=list)

    def points(self):
        for numbers in product(*self.ranges.values()):
            yield dict(zip(self.ranges, numbers))


def make_program(rng: Random, operations: int, from_0: bool = False, kind: str = "any") -> Program:
    """One to three loops, with arithmetic in the innermost.

    ``kind``: ``simple``, the ops that most kernels have; ``narrow``, many of them on integers that overflow; or ``any``.
    """
    module = ir.Module.create()
    index = ir.IndexType.get()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("f", ([index, index], []))
    block = function.add_entry_block()
    program = Program(module, {}, list(block.arguments))
    for number in range(rng.randint(1, 3)):
        low = 0 if from_0 else rng.choice((0, 0, 0, 1, -3))
        extent = rng.choice((1, 2, 3, 4, 6, 8))
        with ir.InsertionPoint(block) if number == 0 else ir.InsertionPoint.at_block_terminator(block):
            loop = make_for(constant(low, index), constant(low + extent, index), name=f"i{number}")
        program.ranges[loop.variable] = range(low, low + extent)
        block = loop.block
    with ir.InsertionPoint(function.body.blocks[0]):
        func.ReturnOp([])
    with ir.InsertionPoint.at_block_terminator(block):
        for _ in range(operations):
            program.values.append(random_value(rng, program, kind))
    return program


def constant(number: int, type_: ir.Type) -> ir.Value:
    return arith.ConstantOp(type_, ir.IntegerAttr.get(type_, number)).result


def random_value(rng: Random, program: Program, kind: str) -> ir.Value:
    """One more value, computed from those that there are."""
    leaves = [*program.ranges, *program.ranges, *program.values]
    small = [v for v in program.values if str(v.type) in ("i8", "i32")]
    a = rng.choice(small if kind == "narrow" and small and rng.random() < 0.7 else leaves)
    simple, dice = kind == "simple", rng.random()
    if not simple and dice < (0.3 if kind == "narrow" else 0.15):
        return cast(rng, a)
    if not simple and dice < 0.25:
        a, b = same_type(rng, leaves, a)
        return arith.CmpIOp(rng.randrange(len(PREDICATES)), a, b).result
    if not simple and dice < 0.32 and (conditions := [v for v in program.values if str(v.type) == "i1"]):
        a, b = same_type(rng, leaves, a)
        return arith.SelectOp(rng.choice(conditions), a, b).result
    if not simple and dice < 0.42 and isinstance(a.type, ir.IndexType):
        operands = [a, rng.choice([v for v in leaves if isinstance(v.type, ir.IndexType)])]
        name = rng.choice(("affine.apply", "affine.min", "affine.max"))
        results = ", ".join(rng.sample(AFFINE, 1 if name == "affine.apply" else 2))
        map_ = ir.Attribute.parse(f"affine_map<(d0, d1)[s0] -> ({results})>")
        return ir.Operation.create(name, [ir.IndexType.get()], [*operands, program.parameters[0]], {"map": map_}).results[0]
    a, b = same_type(rng, leaves, a)
    name = rng.choice(BINARY if kind == "any" else SIMPLE)
    return ir.Operation.create(f"arith.{name}", [a.type], [a, b]).results[0]


def same_type(rng: Random, leaves: list[ir.Value], a: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Two operands of one type; the second is often a constant."""
    if rng.random() < 0.6:
        number = rng.choice((1, 2, 3, 4, 8, 16, 125, 0, -1, -4, -125))
        if str(a.type) == "i1":
            number &= 1
        return a, constant(number, a.type)
    return a, rng.choice([v for v in leaves if v.type == a.type])


def cast(rng: Random, a: ir.Value) -> ir.Value:
    """A value in another type."""
    before = WIDTHS[str(a.type)]
    if isinstance(a.type, ir.IndexType):
        name, to = rng.choice(("index_cast", "index_castui")), rng.choice(("i64", "i32", "i8"))
    else:
        to = rng.choice([t for t in WIDTHS if WIDTHS[t] != before or t == "index"])
        wide = ("index_cast", "index_castui") if to == "index" else ("extsi", "extui") if WIDTHS[to] > before else ("trunci",)
        name = rng.choice(wide)
    return ir.Operation.create(f"arith.{name}", [ir.Type.parse(to)], [a]).results[0]


# --- what it computes ---


def compute(value: ir.Value, known: dict[ir.Value, int]) -> int:
    """The number that a value is: its bits in two's complement, 0 or 1 for i1."""
    if value in known:
        return known[value]
    op = value.owner.operation
    name = op.name.split(".")[1]
    if name == "constant":
        return signed(ir.IntegerAttr(op.attributes["value"]).value & mask(op.results[0].type), op.results[0].type)
    operands = [compute(v, known) for v in op.operands]
    type_ = op.operands[0].type
    if op.name.startswith("affine."):
        results = [affine(e, operands[:2], operands[2:]) for e in ir.AffineMapAttr(op.attributes["map"]).value.results]
        return max(results) if name == "max" else min(results)
    if name == "select":
        return operands[1] if operands[0] else operands[2]
    raw = [n & mask(type_) for n in operands]
    if name == "cmpi":
        predicate = PREDICATES[ir.IntegerAttr(op.attributes["predicate"]).value]
        a, b = raw if predicate.startswith("u") else [-n for n in operands] if WIDTHS[str(type_)] == 1 else operands
        return int({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[predicate.lstrip("us")
                   if predicate not in ("eq", "ne") else predicate])
    if name in ("index_cast", "extsi", "trunci"):
        return signed((-raw[0] if WIDTHS[str(type_)] == 1 else operands[0]) & mask(value.type), value.type)
    if name in ("index_castui", "extui"):
        return signed(raw[0] & mask(value.type), value.type)
    exact = arithmetic(name, operands, raw, WIDTHS[str(type_)])
    if WIDTHS[str(type_)] == 64 and name in ("addi", "subi", "muli", "shli") and not -(1 << 63) <= exact < 1 << 63:
        raise UndefinedError(name)    # index arithmetic is taken not to overflow
    return signed(exact & mask(type_), type_)


def arithmetic(name: str, operands: list[int], raw: list[int], bits: int) -> int:
    (a, b), (x, y) = operands, raw
    if bits == 1:
        a, b = -a, -b
    if ("div" in name or "rem" in name) and y == 0:
        raise UndefinedError("division by 0")
    if name.startswith("sh") and y >= bits:
        raise UndefinedError("shift")
    if name in ("divsi", "floordivsi", "ceildivsi") and b == -1 and a == -(1 << bits - 1):
        raise UndefinedError("the quotient is too large")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    return {
        "addi": lambda: a + b, "subi": lambda: a - b, "muli": lambda: a * b, "floordivsi": lambda: a // b,
        "ceildivsi": lambda: -(-a // b), "divsi": lambda: quotient, "remsi": lambda: a - quotient * b, "divui": lambda: x // y,
        "ceildivui": lambda: -(-x // y), "remui": lambda: x % y, "minsi": lambda: min(a, b), "maxsi": lambda: max(a, b),
        "minui": lambda: min(x, y), "maxui": lambda: max(x, y), "andi": lambda: x & y, "ori": lambda: x | y, "xori": lambda: x ^ y,
        "shli": lambda: a << y, "shrsi": lambda: a >> y, "shrui": lambda: x >> y,
    }[name]()


def affine(e: ir.AffineExpr, dims: list[int], symbols: list[int]) -> int:
    """An affine expression, evaluated as Python."""
    names = {f"d{n}": v for n, v in enumerate(dims)} | {f"s{n}": v for n, v in enumerate(symbols)}
    e = e.maybe_downcast()
    if isinstance(e, (ir.AffineConstantExpr, ir.AffineDimExpr, ir.AffineSymbolExpr)):
        return eval(str(e), names)
    operands = {"a": affine(e.lhs, dims, symbols), "b": affine(e.rhs, dims, symbols)}
    text = {ir.AffineAddExpr: "a + b", ir.AffineMulExpr: "a * b", ir.AffineModExpr: "a % b", ir.AffineFloorDivExpr: "a // b",
            ir.AffineCeilDivExpr: "-(-a // b)"}[type(e)]
    found = eval(text, operands)
    if not -(1 << 63) <= found < 1 << 63:
        raise UndefinedError(text)
    return found


def mask(type_: ir.Type) -> int:
    return (1 << WIDTHS[str(type_)]) - 1


def signed(bits: int, type_: ir.Type) -> int:
    width = WIDTHS[str(type_)]
    return bits if width == 1 or bits < 1 << (width - 1) else bits - (1 << width)
