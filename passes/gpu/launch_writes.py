"""tir-launch-writes: numbers that main writes to the device's memory, as the sizes that a model multiplies by, are written by kernels.

A kernel takes the number as a parameter, so that nobody waits: a copy from the host's memory has to have ended before the host goes on. The
launches of the model then are one CUDA graph, too, whose numbers depend on nothing but sizes.
"""
from collections.abc import Collection
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.locations import model_name
from legato.core.mlir import func, ir, memref
from legato.core.views import root_of
from legato.dialects.module import Module
from legato.dialects.relax.markers import OPS, WORK
from legato.dialects.tir.markers import OUT, PRIM_FUNC, STATE
from legato.dialects.tir.state import WRITTEN
from legato.passes.gpu.device_copies import item_bytes
from legato.passes.gpu.host_functions import MAIN
from legato.passes.pipeline.base import ModulePass, PassContext

OWN = ("memref.alloca", "memref.alloc")     # the host's memory
NAME = "write_number"       # of the kernels, with a number each


@dataclass(frozen=True)
class LaunchWrites(ModulePass):
    """Puts a call of a kernel in the place of each ``memref.store`` of main's to the device's memory."""

    name: ClassVar[str] = "tir-launch-writes"

    def run(self, module: Module, context: PassContext) -> None:
        functions = {op.name.value: op for op in module.module.body.operations if isinstance(op, func.FuncOp)}
        if MAIN not in functions:
            return
        made: dict[tuple[str, ...], str] = {}
        with module.context:
            for store in find(functions[MAIN].operation, "memref.store"):
                if is_on_device(store.operands[1]):
                    launch(module.module, store, made, functions.keys())


def is_on_device(buffer: ir.Value) -> bool:
    """Whether a kernel may have a buffer of main's: it is not the host's own, and its elements, numbers, lie one after the other."""
    owner, type_ = root_of(buffer).owner, ir.MemRefType(buffer.type)
    if not isinstance(owner, ir.Block) and owner.name in OWN:
        return False
    plain = type_.affine_map == ir.AffineMap.get_identity(type_.rank)
    return plain and isinstance(type_.element_type, ir.IntegerType | ir.FloatType)


def launch(module: ir.Module, store: ir.Operation, made: dict[tuple[str, ...], str], taken: Collection[str]) -> None:
    """Calls the kernel of a store, which stores of the same types share. ``made``: the kernels so far, by these types; ``taken``: names."""
    types = [one.type for one in store.operands]
    key = tuple(map(str, types))
    if key not in made:
        made[key] = next(name for name in map(f"{NAME}_{{}}".format, count()) if name not in taken and name not in made.values())
        write_kernel(module, made[key], types)
    graph_op = model_name(store)
    ops = store.name if graph_op is None else f"{store.name} {graph_op}"
    with ir.InsertionPoint(store), store.location:
        call = func.CallOp([], ir.FlatSymbolRefAttr.get(made[key]), list(store.operands))
    call.operation.attributes[OPS] = ir.ArrayAttr.get([ir.StringAttr.get(ops)])
    call.operation.attributes[WORK] = ir.ArrayAttr.get([ir.StringAttr.get(text) for text in ("0", str(item_bytes(types[0])))])
    store.erase()


def write_kernel(module: ir.Module, name: str, types: list[ir.Type]) -> None:
    """A kernel ``name(number, buffer, indices...)`` that writes one number."""
    with ir.InsertionPoint.at_block_begin(module.body), ir.Location.unknown():
        kernel = func.FuncOp(name, ir.FunctionType.get(types, []), visibility="private")
        kernel.attributes[PRIM_FUNC] = ir.UnitAttr.get()
        kernel.attributes[STATE] = ir.StringAttr.get(WRITTEN)
        kernel.arg_attrs = ir.ArrayAttr.get([ir.DictAttr.get({OUT: ir.UnitAttr.get()} if n == 1 else {}) for n in range(len(types))])
        number, buffer, *indices = kernel.add_entry_block().arguments
    with ir.InsertionPoint(kernel.body.blocks[0]), ir.Location.unknown():
        memref.store(number, buffer, indices)
        func.ReturnOp([])
