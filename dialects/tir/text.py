"""Prim_funcs given as MLIR text, and which kernels passes must leave as written."""
from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.dialects.tir.check import check_prim_func
from legato.dialects.tir.markers import OUT, PRIM_FUNC
from legato.dialects.tir.state import WRITTEN, set_state


def parse_prim_func(text: str) -> func.FuncOp:
    """The only function of an MLIR text, detached, as a prim_func with a fixed body. LegatoError if it cannot be one.

    Conventions of prim_funcs that the text leaves out are added: private visibility, ``tir.prim_func``, ``tir.out`` on the last
    arguments.
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
    kernel.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    set_state(kernel, WRITTEN)
    first = len(kernel.type.inputs) - len(kernel.type.results)
    out = ir.DictAttr.get({OUT: ir.UnitAttr.get(), "bufferization.writable": ir.BoolAttr.get(True)})
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get({})] * first + [out] * (len(kernel.type.inputs) - first))
    check_prim_func(kernel)
    return kernel.operation.clone(ip=False)  # detached, since the parsed module is freed
