"""From loops, vectors of rank 1 and memrefs to the LLVM dialect, and what every function has to say of itself there."""
from legato.core.diagnostics import PassFailed
from legato.core.mlir import ir
from legato.core.upstream import run_on

LOOPS = "func.func(convert-linalg-to-loops,canonicalize,cse,loop-invariant-code-motion)"
PARALLEL = "func.func(scf-forall-to-parallel),convert-scf-to-openmp{{num-threads={threads}}},canonicalize"
SERIAL = "func.func(scf-forall-to-for)"
DOWN = ("convert-vector-to-scf{full-unroll=1},convert-scf-to-cf,expand-strided-metadata,lower-affine,canonicalize,"
        "convert-math-to-llvm,convert-math-to-libm,convert-vector-to-llvm{reassociate-fp-reductions=1},convert-to-llvm")
CLEAN = "reconcile-unrealized-casts,canonicalize,cse"
ALLOWED = ("llvm", "omp", "builtin")


def to_llvm(module: ir.Module, threads: int) -> None:
    """Converts every function of ``module``. Raises PassFailed, with the op, for what is left over."""
    steps = [LOOPS]
    if threads > 1:
        steps += [PARALLEL.format(threads=threads), DOWN, "convert-openmp-to-llvm"]
    else:
        steps += [SERIAL, DOWN]
    run_on(module.operation, ",".join([*steps, CLEAN]))
    complain(module)


def complain(module: ir.Module) -> None:
    """Translation to LLVM IR crashes on ops that it does not know: they are refused here."""
    left: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.split(".")[0] not in ALLOWED or op.name == "builtin.unrealized_conversion_cast":
            left.append(op)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if left:
        raise PassFailed(f"{left[0].name} has no lowering to LLVM", left[0])


def mark_functions(module: ir.Module, cpu: str, features: str, kernels: set[str]) -> None:
    """The CPU on every function; ``kernels`` become internal, and stay functions of their own."""
    target = ir.Attribute.parse("#llvm.target_features<[" + ", ".join(f'"{f}"' for f in features.split(",")) + "]>")
    internal = ir.Attribute.parse("#llvm.linkage<internal>")
    for op in module.body.operations:
        if op.operation.name != "llvm.func" or not op.operation.regions[0].blocks:
            continue
        op.operation.attributes["target_cpu"] = ir.StringAttr.get(cpu)
        op.operation.attributes["target_features"] = target
        if op.operation.attributes["sym_name"].value in kernels:
            op.operation.attributes["linkage"] = internal
            op.operation.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("noinline")])
