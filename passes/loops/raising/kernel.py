"""Raises one kernel of loops to structured ops on tensors."""
from legato.analysis.indices.forms import depends
from legato.analysis.kernel_sizes import KernelSizes, UnknownSizeError
from legato.analysis.structured.ops import StructuredOp
from legato.core import fills
from legato.core.diagnostics import PassFailed, of_error
from legato.core.ir_helpers import find, terminator
from legato.core.mlir import func, ir
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.tir.state import set_state
from legato.dialects.tir.walk import localize_constants, parameter_name
from legato.passes.loops.raising.kept import Kept
from legato.passes.loops.raising.names import name_structures
from legato.passes.loops.raising.nests import read_nests
from legato.passes.loops.raising.order import check_order
from legato.passes.loops.raising.privatize import privatize
from legato.passes.loops.raising.statements import PURE, statements_of
from legato.passes.loops.raising.structured import Tensors, build


def raised(kernel: func.FuncOp) -> func.FuncOp:
    """Raises a kernel and replaces it. Kept, with the reason, where that is not possible; the kernel is unchanged then."""
    trial = kernel.operation.clone(ir.InsertionPoint(kernel)).operation
    try:
        raise_kernel(trial.opview)
        trial.verify()
        run_on(trial, "canonicalize,cse")
        check_sums(trial)
        name_structures(trial.opview)
    except Kept:
        trial.erase()
        raise
    except UnknownSizeError as error:
        trial.erase()
        raise Kept(str(error)) from error
    except (ir.MLIRError, PassFailed) as error:
        trial.erase()
        raise Kept(f"its structured form is not valid: {of_error(error)[0].message}") from error
    kernel.operation.erase()
    return trial.opview


def check_sums(kernel: ir.Operation) -> None:
    """Kept where a reduction, simplified, does not read what it adds to: the value of its last step would stay."""
    for op in find(kernel, "linalg.generic"):
        step = op.regions[0].blocks[0]
        outs = list(step.arguments)[-len(op.results):]
        if not StructuredOp(op).parallel and not all(depends(value, outs) for value in terminator(step).operands):
            raise Kept("a reduction adds nothing up: the value of its last step stays")


def raise_kernel(kernel: func.FuncOp) -> None:
    """Raises one kernel in place. Kept, with the reason, where that is not possible; the kernel is invalid then."""
    if len(kernel.body.blocks) != 1:
        raise Kept("its control flow is no loops and conditions")
    localize_constants(kernel.operation)
    sizes, tensors = prepare(kernel)
    statements = statements_of(kernel)
    own = privatize(statements, {b: tensors.names[b] for b in tensors.own}, sizes)
    for buffer in own:
        sizes.allocate(buffer, list(buffer.owner.operands))
    tensors.names |= own
    tensors.own |= set(own)
    check_order(statements, sizes, tensors.names)
    block = kernel.body.blocks[0]
    end = block.operations[len(block.operations) - 1].operation
    for statement in statements:
        for nest in read_nests(statement, sizes):
            with ir.InsertionPoint(end), nest.location:
                build(nest, tensors)
    with ir.InsertionPoint(end), end.location:
        finish(kernel, end, tensors)
    set_state(kernel, None)


def prepare(kernel: func.FuncOp) -> tuple[KernelSizes, Tensors]:
    """The sizes, names and initial tensors of the kernel's buffers."""
    sizes = KernelSizes(kernel)
    arguments = list(kernel.arguments)
    given = [parameter_name(kernel, number, f"argument {number}") for number in range(len(arguments))]
    outputs = arguments[len(arguments) - tir.out_count(kernel):]
    tensors = Tensors(sizes, {}, {}, set())
    for op in find(kernel.operation, "bufferization.to_buffer", "tir.alloc_buffer"):
        buffer = op.results[0]
        if op.name == "tir.alloc_buffer":
            tensors.names[buffer] = op.opview.name
            if op.parent.name != "func.func":
                to_entry(op, tensors.names[buffer], kernel)
            sizes.allocate(buffer, list(op.operands))
            tensors.own.add(buffer)
            continue
        argument = op.operands[0]
        if argument not in arguments:
            raise Kept("a buffer is neither a parameter nor the kernel's own")
        sizes.shapes[buffer] = sizes.shape(argument)
        tensors.names[buffer] = given[arguments.index(argument)]
        if argument not in outputs:
            tensors.current[buffer] = argument
    return sizes, tensors


def to_entry(op: ir.Operation, name: str, kernel: func.FuncOp) -> None:
    """Moves a buffer that is allocated in a loop before all loops."""
    entry = kernel.body.blocks[0]
    if any(isinstance(v.owner, ir.Block) or v.owner.operation.parent.name != "func.func" for v in op.operands):
        raise Kept(f"the size of the buffer '{name}' depends on the loop that it is made in")
    op.move_before(next(o.operation for o in entry.operations if len(o.operation.regions)))


def finish(kernel: func.FuncOp, end: ir.Operation, tensors: Tensors) -> None:
    """Returns the tensors that the output buffers hold, computed in the outputs, and erases the loops."""
    for number, value in enumerate(list(end.operands)):
        if isinstance(value.owner, ir.Block) or value.owner.name != "bufferization.to_tensor":
            raise Kept("a result is not what a buffer holds")
        end.operands[number] = tensors.held(value.owner.operands[0])
    tir.tie_outputs(kernel)
    for number, (value, out) in enumerate(tir.results_with_outputs(kernel)):
        if not tir.is_tied(value, out):
            end.operands[number] = fills.copy(value, out)
    for op in find(kernel.operation, "memref.dim"):
        size = tensors.sizes.of(op.results[0])
        if size is not None:
            with ir.InsertionPoint(op):
                op.results[0].replace_all_uses_with(tensors.sizes.value(size))
            op.erase()
    leftover = ("tir.", "bufferization.", "memref.", "scf.")
    for op in reversed([o.operation for o in kernel.body.blocks[0].operations]):
        used = any(list(r.uses) for r in op.results)
        if op.name.startswith(leftover) and used:
            raise Kept(f"the result of {op.name} is used outside of its loops")
        if op.name.startswith(leftover) or (op.name.split(".")[0] in PURE and not used):
            op.erase()
