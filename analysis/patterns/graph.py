"""The graph that patterns are matched on: graph ops and calls of recognized kernels, with operands and users."""
from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from legato.analysis.data_sizes import DataSizes, symbols_of_type
from legato.analysis.recognize import RecognizedKernel, recognize
from legato.core.errors import LegatoError
from legato.core.ir_helpers import find
from legato.core.locations import describe, model_name
from legato.core.mlir import func, ir
from legato.dialects.relax.dims import given_symbols
from legato.dialects.relax.graph import attributes_of, op_class
from legato.dialects.relax.types import TensorType

CONSTANT = "relax.constant"
NESTED = ("scf.if", "scf.for", "scf.while")


@dataclass(eq=False, repr=False)
class Ref:
    """A value: result ``index`` of ``node``, or, with the node None, an argument or a value of a block around."""

    value: ir.Value
    node: Node | None = None
    index: int = 0

    @cached_property
    def type(self) -> TensorType | None:
        """Sizes and element type; None for a value that is no tensor."""
        type_ = self.value.type
        return TensorType.of(type_) if isinstance(type_, ir.RankedTensorType) else None

    @property
    def is_constant(self) -> bool:
        """Whether the value is a relax.constant."""
        return self.node is not None and self.node.name == CONSTANT

    def __str__(self) -> str:
        if self.node is not None:
            return str(self.node)
        owner = self.value.owner
        return "an argument" if isinstance(owner, ir.Block) else f"{describe(owner)} outside of the branch or loop"


@dataclass(eq=False, repr=False)
class Node:
    """An op. ``name``: the name that patterns use; ``kernel``: the recognized kernel, for a call of one."""

    op: ir.Operation
    name: str
    position: int
    operands: list[Ref] = field(default_factory=list)
    results: list[Ref] = field(default_factory=list)
    users: list[Node] = field(default_factory=list)
    kernel: RecognizedKernel | None = None
    helpers: list[Node] = field(default_factory=list)  # the tensor.empty ops that are the kernel's destinations

    @cached_property
    def attrs(self) -> dict[str, Any]:
        """The attributes as Python values, with defaults; empty for other than graph ops and recognized kernels."""
        if self.kernel is not None:
            return self.kernel.attrs
        return attributes_of(self.op) if op_class(self.op) is not None else {}

    @cached_property
    def is_pure(self) -> bool:
        """Whether it may become part of a group: a graph op other than a constant, or the call of a recognized kernel."""
        return self.kernel is not None or (self.name != CONSTANT and op_class(self.op) is not None)

    @property
    def model_name(self) -> str | None:
        """The op's name in the model; None where it has none."""
        return model_name(self.op)

    def __str__(self) -> str:
        named = f' "{self.model_name}"' if self.model_name else ""
        return describe(self.op) if self.kernel is None else f"{self.name}{named} (the kernel @{self.kernel.function.name.value})"


class Graph:
    """The nodes of one block of a function. LegatoError for a function of several blocks."""

    def __init__(self, function: func.FuncOp, kernels: dict[str, RecognizedKernel] | None = None, block: ir.Block | None = None):
        """``kernels``: the recognized kernels of the module, by name (see ``recognized``); ``block``: one of ``graph_blocks`` (None: the
        function's own)."""
        if len(function.body.blocks) != 1:
            raise LegatoError(f"@{function.name.value} has branches: patterns are matched in functions of one block")
        self.function = function
        self.block = block or function.body.blocks[0]
        self.nodes: list[Node] = []
        self.by_name: dict[str, list[Node]] = {}
        self._refs: dict[ir.Value, Ref] = {a: Ref(a) for a in self.block.arguments}
        for position, op in enumerate(self.block.operations):
            self._add(op.operation, position, kernels or {})

    @cached_property
    def sizes(self) -> DataSizes:
        """The function's sizes that depend on data."""
        return DataSizes(self.function)

    def size_refusal(self, nodes: Collection[Node], results: Iterable[Ref]) -> str | None:
        """The reason why these nodes cannot become a group with such results, or None: a size in it that the group could not know, or one
        that depends on its data and is named outside. The host allocates a group's results before it calls it."""
        results = list(results)
        ops = {node.op for node in nodes}
        given = {name: op for name, op in self.sizes.given.items() if op in ops}
        outer = [ref for node in nodes for ref in node.operands if ref.node not in nodes]
        known = given.keys() | {name for ref in [*outer, *results] for name, *_ in given_symbols(ref.value.type)}
        for node in nodes:
            for name in sorted(self.sizes.all_named_by(node.op) - known):
                return (f"{node} needs the size {name}, which no dimension of an input or a result of the group gives: its code could not "
                        "know it")
        if not given:
            return None
        for ref in results:
            for name in sorted(symbols_of_type(ref.value.type) & given.keys()):
                return (f"the size {name} of its result is known only after {describe(given[name])} has run, and the host allocates a "
                        "group's results before it calls it")
        for node in self.nodes:
            if node not in nodes:
                for name in sorted(self.sizes.named_by(node.op) & given.keys()):
                    return f"the size {name}, which {describe(given[name])} finds, is also used outside, by {node}"
        return None

    def _add(self, op: ir.Operation, position: int, kernels: dict[str, RecognizedKernel]) -> None:
        node = Node(op, op.name, position)
        operands = list(op.operands)
        if op.name == "func.call" and (kernel := kernels.get(op.attributes["callee"].value)) is not None:
            empties = [ref.node for v in operands[len(operands) - kernel.outputs:] if (ref := self._refs.get(v)) is not None]
            if len(empties) == kernel.outputs and all(e and e.name == "tensor.empty" and not len(e.op.operands) for e in empties):
                node.kernel, node.name, node.helpers = kernel, kernel.name, empties
                operands = [operands[i] for i in kernel.operands]
        node.operands = [self._refs.get(v) or self._refs.setdefault(v, outer(v)) for v in operands]
        for ref in dict.fromkeys(self._refs.get(v) for v in [*operands, *_nested_operands(op)]):
            if ref is not None and ref.node is not None:
                ref.node.users.append(node)
        for index, value in enumerate(op.results):
            ref = self._refs[value] = Ref(value, node, index)
            node.results.append(ref)
        self.nodes.append(node)
        self.by_name.setdefault(node.name, []).append(node)


def outer(value: ir.Value) -> Ref:
    """A value of a block around: a constant, or like an argument."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != CONSTANT:
        return Ref(value)
    node = Node(owner.operation, CONSTANT, position=-1)
    node.results.append(Ref(value, node))
    return node.results[0]


def graph_blocks(function: func.FuncOp) -> list[ir.Block]:
    """The blocks of a function whose ops are a graph of their own: that of the function, and those of branches and loops in them."""
    if not find(function, *NESTED):
        return [function.body.blocks[0]]
    found: list[ir.Block] = []

    def add(block: ir.Block) -> None:
        found.append(block)
        for op in block.operations:
            if op.operation.name in NESTED:
                for region in op.operation.regions:
                    for inner in region.blocks:
                        add(inner)

    add(function.body.blocks[0])
    return found


def _nested_operands(op: ir.Operation) -> list[ir.Value]:
    """The operands of all ops in the op's regions."""
    found: list[ir.Value] = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                found += [*inner.operation.operands, *_nested_operands(inner.operation)]
    return found


def recognized(module: ir.Module) -> dict[str, RecognizedKernel]:
    """The recognized kernels of a module, by function name."""
    found = {}
    for op in module.body.operations:
        if isinstance(op, func.FuncOp) and (kernel := recognize(op)) is not None:
            found[op.name.value] = kernel
    return found
