"""The scopes and names of a launch's buffers, and which ops write memory that other threads see."""

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.core.views import root_of
from legato.dialects.tir.markers import BUFFER_NAME as NAME
from legato.dialects.tir.markers import SHARED_NAMES
from legato.dialects.tir.matrices import LOAD_MATRIX as LOAD_SUBGROUP_MATRIX
from legato.dialects.tir.matrices import STORE_MATRIX
from legato.dialects.tir.tiles import BULK_COPY, WARPGROUP_PRODUCT
from legato.dialects.tir.walk import buffer_name

GLOBAL, SHARED, LOCAL = "global", "shared", "local"
LOAD_MATRIX = "nvgpu.ldmatrix"   # a warp's load from shared memory, of rows of which each lane has the place of one
MATRIX_BUFFERS = {LOAD_SUBGROUP_MATRIX: 0, STORE_MATRIX: 1}    # of ops that move matrices of subgroups: the operand that is the buffer
STORES = ("memref.store", STORE_MATRIX)     # ops that write elements of the buffer that is their second operand
LOAD_WORD = "vector.load"        # the bytes of a word, which a dot product multiplies
WHOLE = (LOAD_MATRIX, LOAD_WORD, BULK_COPY, WARPGROUP_PRODUCT, *MATRIX_BUFFERS)   # ops that take shared buffers as they are
SCOPES = {"global": GLOBAL, "shared": SHARED, "shared.dyn": SHARED, "local": LOCAL}


def scope_of(buffer: ir.Value) -> str:
    """The scope of a buffer: global, shared or local. PassFailed for a scope that GPUs do not have."""
    owner = root_of(buffer).owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tir.alloc_buffer":
        return GLOBAL
    made = owner.operation.opview
    if made.scope not in SCOPES:
        raise PassFailed(f"the buffer {made.name} has the scope '{made.scope}', which this target does not have; it has: "
                         f"{', '.join(SCOPES)}", made.operation)
    return SCOPES[made.scope]


def name_of(buffer: ir.Value) -> str:
    """The name of a buffer's allocation or parameter."""
    buffer = root_of(buffer)
    owner = buffer.owner
    if isinstance(owner, ir.Block):
        number, holder = ir.BlockArgument(buffer).arg_number, owner.owner.operation
        names = list(holder.attributes[SHARED_NAMES]) if SHARED_NAMES in holder.attributes else []
        return names[number - len(holder.regions[0].blocks[0].arguments)].value if names else f"argument {number}"
    op = owner.operation
    return op.attributes[NAME].value if NAME in op.attributes else buffer_name(buffer)


def is_local_store(op: ir.Operation) -> bool:
    """Whether an op is a store to a local buffer."""
    return op.name in STORES and scope_of(op.operands[1]) == LOCAL


def has_effect(op: ir.Operation) -> bool:
    """Whether an op (without its regions) has an effect outside of its thread."""
    if op.name in STORES:
        return not is_local_store(op)
    if op.name in ("func.call", "llvm.call"):
        return not is_pure_call(op)
    return op.name in ("memref.copy", "vector.store", "vector.transfer_write", "memref.atomic_rmw", "memref.generic_atomic_rmw",
                       BULK_COPY)


def is_pure_call(call: ir.Operation) -> bool:
    """Whether the callee is declared to read and write no memory."""
    top = call.parent
    while top is not None and top.operation.name != "builtin.module":
        top = top.operation.parent
    callee = call.attributes["callee"].value
    for function in find(top.operation, "func.func") if top is not None else []:
        if function.attributes["sym_name"].value == callee:
            return "llvm.readnone" in function.attributes
    return False
