"""tir-sink-scalars: numbers that the host would compute for a launch are computed by its threads."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import everything, find, substitute
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class SinkScalars(ModulePass):
    """Copies the arithmetic that gives a launch a scalar which is no index (1 / n of a mean, a constant) into the launch, down to the
    sizes that it begins with. Upstream's gpu-launch-sink-index-computations does this for sizes and constants only.
    """

    name: ClassVar[str] = "tir-sink-scalars"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for launch in find(module.operation, "gpu.launch"):
                sink_scalars(launch)


def sink_scalars(launch: ir.Operation) -> None:
    """Copies what one launch takes."""
    inside = dict.fromkeys(everything(launch))
    wanted: list[ir.Operation] = []
    for op in inside:
        for value in op.operands:
            if (owner := scalar_op(value)) is not None and owner not in inside:
                wanted += [one for one in [*needed(owner), owner] if one not in wanted]
    with ir.InsertionPoint.at_block_begin(launch.regions[0].blocks[0]):
        mapping: dict[ir.Value, ir.Value] = {}
        for op in wanted:
            new = op.clone()
            substitute(new, mapping)
            mapping.update(zip(op.results, new.results))
    for op in inside:
        if op != launch:
            for number, value in enumerate(op.operands):
                if value in mapping and not isinstance(value.type, ir.IndexType):
                    op.operands[number] = mapping[value]


def scalar_op(value: ir.Value) -> ir.Operation | None:
    """The arithmetic op that gives a scalar which is no index; None for another value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or isinstance(value.type, ir.IndexType | ir.ShapedType):
        return None
    return owner.operation if owner.operation.name.startswith(("arith.", "math.")) else None


def needed(op: ir.Operation) -> list[ir.Operation]:
    """The ops that an op's operands come from and that are copied with it, in an order in which they can run."""
    found: list[ir.Operation] = []
    for value in op.operands:
        owner = scalar_op(value)
        if owner is not None:
            found += [one for one in [*needed(owner), owner] if one not in found]
    return found
