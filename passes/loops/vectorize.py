"""Vectorization of one loop: its body is rewritten on vectors whose lanes are the iterations."""
from collections.abc import Sequence

from legato.analysis.indices.forms import linear
from legato.analysis.lanes import MOST_LANES, NotVectorizable, lanes_of
from legato.core.ir_helpers import body, terminator
from legato.core.mlir import arith, ir, math, scf, vector
from legato.dialects.tir.loops import ForOp, constant_of


def vectorize(loop: ForOp, most: int = MOST_LANES) -> None:
    """Replaces a loop by vector ops of at most ``most`` lanes. NotVectorizable, before anything is changed, where its body has no vector
    form."""
    lanes, extent = lanes_of(loop, most), loop.extent
    if lanes == 1 and extent != 1:
        raise NotVectorizable(f"its extent, {extent}, has no divisor up to {most}")
    check(loop.block, loop.variable)
    lower = loop.bounds[0]
    with ir.InsertionPoint(loop), loop.operation.location:
        if lanes == extent:
            LaneBuilder(loop, lower, lanes).block(loop.block)
        else:
            around = scf.ForOp(lower, loop.bounds[1], arith.ConstantOp(ir.IndexType.get(), lanes).result)
            with ir.InsertionPoint(around.body):
                LaneBuilder(loop, around.induction_variable, lanes).block(loop.block)
                scf.YieldOp([])
    loop.operation.erase()


def varying_values(block: ir.Block, variable: ir.Value) -> set[ir.Value]:
    """The values in a block that differ between lanes."""
    varying = {variable}

    def visit(inside: ir.Block) -> None:
        for op in inside.operations:
            for region in op.operation.regions:
                for nested in region.blocks:
                    visit(nested)
            given = [v for region in op.operation.regions for nested in region.blocks for v in terminator(nested).operands]
            if any(v in varying for v in (*op.operation.operands, *given)):
                varying.update(op.operation.results)

    visit(block)
    return varying


def check(block: ir.Block, variable: ir.Value) -> None:
    """NotVectorizable for a body without vector form."""
    varying = varying_values(block, variable)

    def visit(inside: ir.Block) -> None:
        for op in inside.operations:
            op = op.operation
            differs = any(v in varying for v in op.operands)
            if op.name == "memref.store":
                place(op, 2, variable, varying)
            elif op.name == "memref.load":
                if differs:
                    place(op, 1, variable, varying)
            elif op.name in ("scf.if", "scf.for"):
                if differs or (len(op.results) and op.name == "scf.for"):
                    raise NotVectorizable(f"a {op.name} in it goes different ways in different lanes")
                for region in op.regions:
                    for nested in region.blocks:
                        visit(nested)
            elif op.name not in ("scf.yield", "tir.yield") and (len(op.regions) or (differs and not elementwise(op))):
                raise NotVectorizable(f"{op.name} has no form on vectors")

    visit(block)


def elementwise(op: ir.Operation) -> bool:
    """Whether an op of arith or math works on vectors elementwise."""
    return op.name.split(".")[0] in ("arith", "math")


def place(op: ir.Operation, first: int, variable: ir.Value, varying: set[ir.Value]) -> None:
    """NotVectorizable for an access that does not move along the last dimension by one element for each lane."""
    *outer, last = list(op.operands)[first:] or [None]
    form = None if last is None else linear(last)
    steps = form is not None and form.coefficient(variable) == 1 and not any(v in varying for v in form.terms if v != variable)
    if not steps or any(v in varying for v in outer):
        raise NotVectorizable(f"{op.name} does not walk along the last dimension of its buffer, element by element")
    strides, _ = op.operands[first - 1].type.get_strides_and_offset()
    if strides[-1] != 1:
        raise NotVectorizable("the elements of a buffer are not next to each other")


class LaneBuilder:
    """Builds the body on vectors at the insertion point."""

    def __init__(self, loop: ForOp, start: ir.Value, lanes: int):
        self.lanes = lanes
        self.variable = loop.variable
        self.first = {self.variable: start}        # the value in the first lane
        self.vectors: dict[ir.Value, ir.Value] = {}  # all lanes of values that differ
        self.varying = varying_values(loop.block, self.variable)

    def block(self, block: ir.Block, results: Sequence[ir.Value] = ()) -> list[ir.Value]:
        """Builds the ops of a block; values made in it are forgotten after it. ``results``: what it gives its values to. Returns those."""
        first, vectors = dict(self.first), dict(self.vectors)
        for op in body(block):
            self.op(op)
        given = [self.vector(v) if r in self.varying else self.scalar(v) for r, v in zip(results, terminator(block).operands)]
        self.first, self.vectors = first, vectors  # values made inside are not visible after the block
        return given

    def op(self, op: ir.Operation) -> None:
        """Builds one op: stores and varying ops on vectors, others as scalars."""
        differs = any(v in self.varying for v in op.operands)
        with op.location:
            if op.name == "memref.store":
                vector.StoreOp(self.vector(op.operands[0]), op.operands[1], [self.scalar(v) for v in list(op.operands)[2:]])
            elif not differs:
                self.uniform(op)
            else:
                self.varied(op)

    def uniform(self, op: ir.Operation) -> None:
        """Builds an op that is equal in all lanes, as a scalar."""
        if op.name == "scf.if":
            self.condition(op)
        elif op.name == "scf.for":
            made = scf.ForOp(*(self.scalar(v) for v in op.operands))
            self.first[op.regions[0].blocks[0].arguments[0]] = made.induction_variable
            with ir.InsertionPoint(made.body):
                self.block(op.regions[0].blocks[0])
                scf.YieldOp([])
        else:
            self.first.update(zip(op.results, self.clone(op)))

    def condition(self, op: ir.Operation) -> None:
        """Builds an ``scf.if`` that all lanes take alike; its results may differ."""
        regions = [r for r in op.regions if len(r.blocks)]
        types = [ir.VectorType.get([self.lanes], r.type) if r in self.varying else r.type for r in op.results]
        made = scf.IfOp(self.scalar(op.operands[0]), types, has_else=len(regions) > 1)
        for region, block in zip(regions, (made.then_block, made.else_block) if len(regions) > 1 else (made.then_block,)):
            with ir.InsertionPoint(block):
                scf.YieldOp(self.block(region.blocks[0], list(op.results)))
        for result, new in zip(op.results, made.results):
            (self.vectors if result in self.varying else self.first)[result] = new

    def clone(self, op: ir.Operation) -> list[ir.Value]:
        """A clone of an op on first-lane values. Returns its results."""
        operands = [self.scalar(v) for v in op.operands]  # before the op that takes them
        new = op.clone()
        for number, operand in enumerate(operands):
            new.operands[number] = operand
        return list(new.results)

    def varied(self, op: ir.Operation) -> None:
        """Builds an op that differs between lanes, except index arithmetic, which is built on demand."""
        result = op.results[0]
        if op.name == "memref.load":
            type_ = ir.VectorType.get([self.lanes], result.type)
            self.vectors[result] = vector.LoadOp(type_, op.operands[0], [self.scalar(v) for v in list(op.operands)[1:]]).result
            return
        if isinstance(result.type, ir.IndexType) or is_index_cast(op):
            return  # built on demand: an address needs the first lane only
        fused = self.fused_multiply_add(op)
        self.vectors[result] = fused if fused is not None else self.elementwise(op)

    def elementwise(self, op: ir.Operation) -> ir.Value:
        """The op on vectors."""
        type_ = ir.VectorType.get([self.lanes], op.results[0].type)
        attributes = {name: op.attributes[name] for name in op.attributes}
        return ir.Operation.create(op.name, [type_], [self.vector(v) for v in op.operands], attributes).results[0]

    def fused_multiply_add(self, op: ir.Operation) -> ir.Value | None:
        """``a * b + c`` as one fma, where the script allows it and the product has no other use; else None."""
        if op.name != "arith.addf" or "contract" not in str(op.attributes["fastmath"]):
            return None
        for number in (0, 1):
            product = op.operands[number].owner
            if isinstance(product, ir.Block) or product.name != "arith.mulf" or len(list(product.results[0].uses)) != 1:
                continue
            if op.operands[number] in self.vectors:
                a, b, c = (self.vector(v) for v in (*product.operands, op.operands[1 - number]))
                return math.FmaOp(a, b, c).result
        return None

    def scalar(self, value: ir.Value) -> ir.Value:
        """The value in the first lane."""
        if value in self.first:
            return self.first[value]
        if value not in self.varying:
            return value
        self.first[value] = self.clone(value.owner)[0]
        return self.first[value]

    def vector(self, value: ir.Value) -> ir.Value:
        """The values of all lanes."""
        if value in self.vectors:
            return self.vectors[value]
        type_ = ir.VectorType.get([self.lanes], value.type)
        if value not in self.varying:
            made = vector.BroadcastOp(type_, self.scalar(value)).result
            if constant_of(value) is None:
                return made
        elif value == self.variable:
            steps = vector.StepOp(type_).result
            made = arith.AddIOp(vector.BroadcastOp(type_, self.first[value]).result, steps).result
        else:
            made = self.elementwise(value.owner)
        self.vectors[value] = made
        return made


def is_index_cast(op: ir.Operation) -> bool:
    """Whether an op casts between index and integers."""
    return op.name in ("arith.index_cast", "arith.index_castui")
