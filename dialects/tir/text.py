"""Prim_funcs written by hand, as MLIR text."""
from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.dialects.tir.check import check_prim_func
from legato.dialects.tir.kernel import prim_funcs
from legato.dialects.tir.markers import FIXED, OUT, PRIM_FUNC, SCHEDULE


def is_fixed(kernel: func.FuncOp) -> bool:
    """Whether a prim_func's body is to stay as it is."""
    return FIXED in kernel.attributes or SCHEDULE in kernel.attributes


def schedulable(module: ir.Module) -> list[func.FuncOp]:
    """The kernels that passes may rewrite and schedule: all but those that stay as they are written."""
    return [kernel for kernel in prim_funcs(module) if not is_fixed(kernel)]


def parse_prim_func(text: str) -> func.FuncOp:
    """The one function of a text, detached, as a prim_func whose body stays as it is. LegatoError for what is none.

    What the conventions of prim_funcs want is added where it is missing: private, the mark, ``tir.out`` on the last arguments.
    """
    try:
        module = ir.Module.parse(text)
    except ir.MLIRError as error:
        raise LegatoError(f"a prim_func given as text: {error}") from error
    functions = list(module.body.operations)
    if len(functions) != 1 or not isinstance(functions[0], func.FuncOp) or functions[0].is_external:
        found = ", ".join(f.operation.name for f in functions)
        raise LegatoError(f"a prim_func given as text must be one func.func with a body, found: {found}")
    kernel = functions[0]
    kernel.attributes["sym_visibility"] = ir.StringAttr.get("private")
    kernel.attributes[PRIM_FUNC] = kernel.attributes[FIXED] = ir.UnitAttr.get()
    first = len(kernel.type.inputs) - len(kernel.type.results)
    out = ir.DictAttr.get({OUT: ir.UnitAttr.get(), "bufferization.writable": ir.BoolAttr.get(True)})
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get({})] * first + [out] * (len(kernel.type.inputs) - first))
    check_prim_func(kernel)
    return kernel.operation.clone(ip=False)  # detached; the text's module goes
