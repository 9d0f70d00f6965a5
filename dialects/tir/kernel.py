"""Prim_funcs and calls of them, in destination-passing style.

A prim_func is a private ``func.func`` marked ``tir.prim_func`` whose last arguments, marked ``tir.out``, are its outputs; it returns
them. Its types are plain: no encodings, signless integers, booleans as bytes. A call of it passes a fresh ``tensor.empty`` for each
output.
"""
from collections.abc import Callable, Iterable, Mapping, Sequence

from legato.core.errors import LegatoError
from legato.core.mlir import func, ir, tensor
from legato.dialects.tir.markers import OUT, PRIM_FUNC
from legato.dialects.tir.plain import plain_type


def is_prim_func(op: ir.Operation | ir.OpView) -> bool:
    """Whether an op is a ``func.func`` marked as a kernel."""
    return op.operation.name == "func.func" and PRIM_FUNC in op.operation.attributes


def prim_funcs(module: ir.Module) -> Iterable[func.FuncOp]:
    """The kernels of a module, in order."""
    return [op for op in module.body.operations if is_prim_func(op)]


def out_count(kernel: func.FuncOp) -> int:
    """The number of a prim_func's output arguments."""
    return len(kernel.type.results)


def set_signature(kernel: func.FuncOp, inputs: int) -> None:
    """Marks the arguments after the first ``inputs`` as outputs, and recomputes the function type from the body."""
    block = kernel.body.blocks[0]
    types = [a.type for a in block.arguments]
    results = [v.type for v in block.operations[len(block.operations) - 1].operands]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, results))
    out = ir.DictAttr.get({OUT: ir.UnitAttr.get(), "bufferization.writable": ir.BoolAttr.get(True)})
    empty = ir.DictAttr.get({})
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([empty] * inputs + [out] * (len(types) - inputs))


def add_argument(kernel: func.FuncOp, type_: ir.Type) -> ir.Value:
    """A new argument behind a kernel's others."""
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([*kernel.type.inputs, type_], kernel.type.results))
    if "arg_attrs" in kernel.attributes:
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([*kernel.attributes["arg_attrs"], ir.DictAttr.get({})])
    return kernel.body.blocks[0].add_argument(type_, kernel.location)


KernelBody = Callable[[list[ir.Value], list[ir.Value]], Sequence[ir.Value]]


def prim_func(module: ir.Module, name: str, inputs: Sequence[ir.Type], outputs: Sequence[ir.Type], body: KernelBody,
              location: ir.Location | None = None, symbols: ir.SymbolTable | None = None) -> func.FuncOp:
    """Adds the kernel ``@name`` (made unique) to ``module`` and returns it.

    ``body(inputs, outputs)`` is called with the entry block's arguments, at its insertion point, and returns one value per output. Raises
    what the body raises, and LegatoError when a value's type is not the output's; the module is then unchanged.
    """
    inputs, outputs = [plain_type(t) for t in inputs], [plain_type(t) for t in outputs]
    with ir.InsertionPoint(module.body), location or ir.Location.unknown():
        kernel = func.FuncOp(name, ir.FunctionType.get(inputs + outputs, outputs), visibility="private")
        try:
            block = kernel.add_entry_block()
            arguments = list(block.arguments)
            with ir.InsertionPoint(block):
                results = list(body(arguments[: len(inputs)], arguments[len(inputs):]))
                func.ReturnOp(results)
            found = [r.type for r in results]
            if found != outputs:
                raise LegatoError(f"its body returns {', '.join(map(str, found)) or 'nothing'} but the op has "
                                  f"{', '.join(map(str, outputs))}")
        except BaseException:
            kernel.operation.erase()  # the conversion driver does not roll back ops built from Python
            raise
    kernel.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    set_signature(kernel, len(inputs))
    (symbols or ir.SymbolTable(module.operation)).insert(kernel)
    return kernel


def empty(type_: ir.Type, sizes: Sequence[ir.Value]) -> ir.Value:
    """A ``tensor.empty`` of a plain type; ``sizes``: the index values of its dynamic dimensions, in order."""
    dynamic = iter(sizes)
    shape = [next(dynamic) if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]
    return tensor.EmptyOp(shape, type_.element_type).result


def call_tir(callee: str, operands: Sequence[ir.Value], outputs: Sequence[ir.Type], sizes: Sequence[Sequence[ir.Value]],
             starts: Mapping[int, ir.Value] | None = None) -> list[ir.Value]:
    """A call of a prim_func at the insertion point, on fresh outputs. Returns its results.

    ``outputs``: the plain result types; ``sizes``: for each, the index values of its dynamic dimensions, in order; ``starts``: what outputs
    hold before the call, by their numbers.
    """
    outputs, starts = [plain_type(t) for t in outputs], starts or {}
    given = [starts[n] if n in starts else empty(type_, dynamic) for n, (type_, dynamic) in enumerate(zip(outputs, sizes, strict=True))]
    call = func.CallOp(outputs, ir.FlatSymbolRefAttr.get(callee), [*operands, *given])
    return list(call.results)
