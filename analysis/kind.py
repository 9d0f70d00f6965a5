"""What kind of kernel a prim_func is, read off its body: whatever made it, a contraction is a contraction."""
from legato.core.mlir import func, ir
from legato.dialects.tir.text import is_fixed

ELEMENTWISE, CONTRACTION, WINDOW, REDUCTION, OPAQUE = "elementwise", "contraction", "window", "reduction", "opaque"
CONTRACTIONS = ("linalg.matmul", "linalg.batch_matmul", "linalg.matvec", "linalg.vecmat", "linalg.batch_matvec", "linalg.batch_vecmat",
                "linalg.dot", "linalg.contract", "linalg.mmt4d")
PURE_VIEWS = ("tensor.expand_shape", "tensor.collapse_shape", "tensor.cast")
HARMLESS = (*PURE_VIEWS, "tensor.empty", "tensor.dim", "linalg.fill", "func.return")


def iterators(op: ir.Operation) -> list[str]:
    """A ``linalg.generic``'s iterator types: ``parallel`` or ``reduction``."""
    return [str(a).removeprefix("#linalg.iterator_type<").rstrip(">") for a in op.attributes["iterator_types"]]


def maps(op: ir.Operation) -> list[ir.AffineMap]:
    """A ``linalg.generic``'s indexing maps."""
    return [ir.AffineMapAttr(a).value if hasattr(ir.AffineMapAttr(a), "value") else ir.AffineMap.parse(str(a)) for a in
            op.attributes["indexing_maps"]]


def body_ops(op: ir.Operation) -> list[str]:
    """The names of the ops in a structured op's body."""
    return [o.operation.name for o in op.regions[0].blocks[0].operations]


def op_kind(op: ir.Operation) -> str | None:
    """The kind of one op of a kernel's body; None for what does not count."""
    name = op.name
    if name in HARMLESS or name.split(".")[0] in ("arith", "math", "affine"):
        return None
    if name in CONTRACTIONS or name.startswith("linalg.conv_"):
        return CONTRACTION
    if name.startswith(("linalg.pooling_", "linalg.depthwise_conv_")):
        return WINDOW
    if name == "tensor.pad":
        return None
    if name == "linalg.broadcast":
        return ELEMENTWISE
    if name in ("linalg.generic", "linalg.map", "linalg.reduce"):
        return generic_kind(op) if name == "linalg.generic" else (ELEMENTWISE if name == "linalg.map" else REDUCTION)
    return OPAQUE


def generic_kind(op: ir.Operation) -> str:
    """The kind of a ``linalg.generic``."""
    body = body_ops(op)
    if "tensor.extract" in body:
        return OPAQUE
    kinds = iterators(op)
    if "reduction" not in kinds:
        return ELEMENTWISE if is_identity(maps(op)[-1]) else OPAQUE
    inputs = len(op.operands) - len(op.results)
    products = {"arith.mulf", "arith.muli", "arith.extf", "arith.extsi", "arith.extui", "arith.addf", "arith.addi", "linalg.yield"}
    if inputs == 2 and set(body) <= products and ("arith.mulf" in body or "arith.muli" in body):
        return CONTRACTION if all(m.is_projected_permutation for m in maps(op)) else WINDOW
    return REDUCTION


def is_identity(map_: ir.AffineMap) -> bool:
    return map_ == ir.AffineMap.get_identity(map_.n_dims)


def kernel_kind(kernel: func.FuncOp) -> str:
    """``elementwise``, ``contraction``, ``window`` (pooling, depthwise), ``reduction`` (softmax and norms too) or ``opaque``."""
    if is_fixed(kernel):
        return OPAQUE
    found = set()
    padded = False
    for op in kernel.body.blocks[0].operations:
        padded = padded or op.operation.name == "tensor.pad"
        if kind := op_kind(op.operation):
            found.add(kind)
    if OPAQUE in found or not found:
        return OPAQUE
    for kind in (CONTRACTION, WINDOW, REDUCTION):
        if kind in found:
            return OPAQUE if {CONTRACTION, REDUCTION} <= found else kind
    return OPAQUE if padded else ELEMENTWISE
