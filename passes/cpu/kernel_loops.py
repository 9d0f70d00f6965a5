"""Kernels whose structured ops are replaced by loops, and the constants that these read in another form."""
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from legato.core.constants import shared_constants
from legato.core.ir_helpers import body, defining_op, present, terminator
from legato.core.mlir import bufferization, func, ir
from legato.dialects import relax, tir
from legato.dialects.tir.markers import FORM_OF, HOLDS_RESULT, ROWS, SIGNATURE
from legato.dialects.tir.state import SCHEDULED, set_state
from legato.passes.cpu.elements import Buffers
from legato.passes.graph.functions import Constants


def into_loops(function: func.FuncOp, location: ir.Location, tensors: Iterable[ir.Value], build: Callable[[Buffers], None]) -> None:
    """Replaces the ops of a kernel by what ``build`` builds, which writes the result's buffer. ``tensors``: those that it reads."""
    block = function.body.blocks[0]
    end, out = terminator(block), list(block.arguments)[-1]
    with ir.InsertionPoint(end), location, shared_constants(block):
        buffers = Buffers(tensors, out)
        build(buffers)
        end.operands[0] = bufferization.ToTensorOp(out.type, buffers.of(out), restrict=True, writable=True).result
    for op in reversed(body(block)):
        if all(next(iter(value.uses), None) is None for value in op.results) and op.name.startswith(("linalg.", "tensor.")):
            op.operation.erase()
    set_state(function, SCHEDULED)


def form_for_rows(kernel: func.FuncOp, suffix: str, least: int) -> func.FuncOp:
    """A copy of a kernel, for ``tir-choose-by-rows`` to put into it, that is for at least so many rows."""
    form = kernel.operation.clone(ir.InsertionPoint(kernel)).operation.opview
    form.attributes["sym_name"] = ir.StringAttr.get(f"{kernel.name.value}{suffix}")
    form.attributes[FORM_OF] = ir.FlatSymbolRefAttr.get(kernel.name.value)
    form.attributes[ROWS] = ir.DenseI64ArrayAttr.get([least, -1])
    if SIGNATURE in form.attributes:
        del form.attributes[SIGNATURE]
    return form


def retype(function: func.FuncOp, argument: ir.Value, shape: Sequence[int], element: ir.Type) -> None:
    """Gives an argument of a kernel another type."""
    argument.set_type(ir.RankedTensorType.get(shape, element))
    tir.set_signature(function, len(function.body.blocks[0].arguments) - tir.out_count(function))


def hold_result(function: func.FuncOp, arguments: Iterable[ir.BlockArgument]) -> None:
    """Says of arguments of a kernel that its only result may lie in the memory of any of them (``tir-results-in-place``)."""
    marks = [ir.DictAttr(one) for one in function.arg_attrs]
    for argument in arguments:
        own = {one.name: one.attr for one in marks[argument.arg_number]}
        marks[argument.arg_number] = ir.DictAttr.get({**own, HOLDS_RESULT: ir.UnitAttr.get()})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(marks)


def give_transformed(call: ir.Operation, place: int, constants: Constants, made: dict[Any, str], suffix: str, shape: Sequence[int],
                     dtype: np.dtype, work: Callable[[np.ndarray, np.ndarray], None]) -> None:
    """Gives a call, as operand ``place``, what ``work(array, result)`` makes of the constant that it has. ``made``: the keys of those that
    are there already, by the constant, the suffix and the shape."""
    value = call.operands[place]
    constant = present(defining_op(value))
    source = constant.attributes["weight"].value if "weight" in constant.attributes else None
    key = source, tuple(value.type.shape), suffix, tuple(shape)
    with ir.InsertionPoint(constant), constant.location:
        if key in made:
            new = relax.weight(made[key], dtype, list(shape))
        else:
            array = present(constants.array(value)).reshape(value.type.shape)
            new = constants.build_later(lambda result: work(array, result), shape, dtype, f"{constants.name_of(value)}.{suffix}")
            op = present(defining_op(new))
            if source is not None and "weight" in op.attributes:
                made[key] = op.attributes["weight"].value
    call.operands[place] = new
    constants.erase_unused([value])
