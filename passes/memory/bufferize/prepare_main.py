"""tir-prepare-main: prepares main for bufferization: plain tensor types, results that alias nothing, declared accesses of
declarations."""
from collections.abc import Set
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import everything, find
from legato.core.mlir import arith, bufferization, func, ir, tensor
from legato.dialects import relax, tir
from legato.dialects.module import Module
from legato.dialects.relax.markers import RETURNS
from legato.dialects.tir.markers import STAND_IN
from legato.passes.memory.bufferize.donated import in_memory_of, is_whole
from legato.passes.memory.bufferize.functions import donated, on_tensors
from legato.passes.memory.bufferize.reads import WHOLE_VIEWS, separate_reads
from legato.passes.memory.bufferize.states import own_states
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class PrepareMain(ModulePass):
    """Gives main plain tensor types and results that alias nothing, and declarations the accesses of their operands."""

    name: ClassVar[str] = "tir-prepare-main"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for function in on_tensors(module.module):
                if function.is_external:
                    declare_accesses(function)
                elif not tir.is_prim_func(function):
                    prepare_main(function)


def prepare_main(function: func.FuncOp) -> None:
    """Prepares one function that is no kernel. PassFailed for graph ops, and weights, that are left in it."""
    refuse_graph_ops(function)
    materialize_constants(function)
    tir.plain_types(function)
    own_results(function)
    own_states(function)
    separate_outputs(function)
    separate_reads(function)


def refuse_graph_ops(function: func.FuncOp) -> None:
    """PassFailed for a graph op that is not legalized, with a clearer message than upstream's."""
    for op in relax.graph_ops(function):
        if not isinstance(op, tensor.ConcatOp):  # upstream's op, which bufferizes
            raise PassFailed("it is still an op of the graph: run relax-legalize first", op)


def materialize_constants(function: func.FuncOp) -> None:
    """Turns small constants into ``arith.constant``. PassFailed for a weight: they have to be arguments already."""
    for op in find(function.operation, "relax.constant"):
        if "value" not in op.attributes:
            raise PassFailed(f"the weight {op.attributes['weight']} is still a constant of the graph: run relax-lift-weights first", op)
        value = tir.plain_attribute(op.attributes["value"])
        with ir.InsertionPoint(op), op.location:
            constant = arith.ConstantOp(value.type, value)
        op.results[0].replace_all_uses_with(constant.result)  # the readers get plain types next
        op.erase()


def separate_outputs(function: func.FuncOp) -> None:
    """Clones each ``tensor.empty`` for each of its uses: bufferization compares every pair of values in an alias set."""
    taken: set[ir.Value] = set()
    for user in everything(function.operation):  # in their order: that of a value's uses is lost in text
        for number, operand in enumerate(user.operands):
            if isinstance(operand.owner, ir.Block) or operand.owner.name != "tensor.empty":
                continue
            if operand in taken:
                with ir.InsertionPoint(user):
                    user.operands[number] = operand.owner.clone().results[0]
            taken.add(operand)


def fresh_root(value: ir.Value) -> ir.Value | None:
    """The call result whose whole buffer ``value`` is; None for a part of one, an argument, a constant and others."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in WHOLE_VIEWS:
        value = value.owner.operands[0]
    return value if not isinstance(value.owner, ir.Block) and value.owner.name == "func.call" else None


def own_results(function: func.FuncOp) -> None:
    """Copies returned values that are arguments, constants, parts of something, or returned twice; those that take the memory of arguments
    are computed there, or copied there."""
    block = function.body.blocks[0]
    last = block.operations[len(block.operations) - 1].operation
    seen: set[ir.Value] = set()
    donors = donated(function)
    for i, value in enumerate(list(last.operands)):
        if not isinstance(value.type, ir.RankedTensorType):
            continue
        if i in donors and is_whole(value, donors[i]):
            last.operands[i] = donors[i]
            continue
        root = fresh_root(value)
        if root is not None and root not in seen:
            seen.add(root)
            continue
        with ir.InsertionPoint(last), last.location:
            last.operands[i] = bufferization.AllocTensorOp(value.type, [], copy=value).result
    for i, argument in donors.items():   # behind all that reads arguments
        last.operands[i] = in_memory_of(argument, last.operands[i], last)
    protect_arguments(function, {argument.arg_number for argument in donors.values()})


def protect_arguments(function: func.FuncOp, donated: Set[int]) -> None:
    """Marks arguments as not writable, since they belong to the caller, except for those that are donated."""
    count = len(function.type.inputs)
    given = list(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else [ir.DictAttr.get({})] * count
    attributes = []
    for number, old in enumerate(given):
        new = {a.name: a.attr for a in ir.DictAttr(old)}
        new["bufferization.writable"] = ir.BoolAttr.get(number in donated)
        attributes.append(ir.DictAttr.get(new))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def declare_accesses(function: func.FuncOp) -> None:
    """Declares that a function without body reads its inputs and writes its outputs, and gives it a body that returns these; without this,
    operands would be copied, and each result would be taken for a view of any operand."""
    tir.plain_types(function)
    plain, results = list(function.type.inputs), [] if RETURNS in function.attributes else list(function.type.results)
    given = function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else [{}] * len(plain)
    attributes = []
    for i, old in enumerate(given):
        new = {a.name: a.attr for a in old} if old else {}
        new["bufferization.access"] = ir.StringAttr.get("read" if i < len(plain) - len(results) else "write")
        attributes.append(ir.DictAttr.get(new))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
    if results and plain[len(plain) - len(results):] == results:
        function.attributes[STAND_IN] = ir.UnitAttr.get()
        with ir.InsertionPoint(function.add_entry_block()) as point:
            func.ReturnOp(list(point.block.arguments)[len(plain) - len(results):])
