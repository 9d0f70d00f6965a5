"""From the source of a kernel to a prim_func."""

import ast
from collections.abc import Mapping
from dataclasses import replace

from legato.core.mlir import bufferization, func, ir
from legato.dialects import tir
from legato.dialects.tir.markers import INPLACE, NAMES, SIGNATURE
from legato.dialects.tir.state import SCHEDULED, WRITTEN, set_state
from legato.frontends.script.kernel.expressions import EXPRESSIONS
from legato.frontends.script.kernel.notes import is_scheduled
from legato.frontends.script.kernel.parser import KernelParser, KernelTables
from legato.frontends.script.kernel.signature import bind, outputs_of, parameters_of, specialize
from legato.frontends.script.kernel.statements import STATEMENTS
from legato.frontends.script.kernel.threads import TO_THE_END
from legato.frontends.script.language.source import Source

TABLES = KernelTables(EXPRESSIONS, STATEMENTS, TO_THE_END)


def parse_kernel(source: Source, module: ir.Module, name: str | None = None, symbols: ir.SymbolTable | None = None,
                 sizes: Mapping[str, int] | None = None) -> func.FuncOp:
    """Adds the kernel of a source to ``module`` as a prim_func. ScriptError, at its line, for what is wrong in it.

    ``name``: instead of the function's own; ``symbols``: the module's symbol table, for a unique one; ``sizes``: the values of size
    symbols that are known.
    """
    parser = KernelParser(source, TABLES)
    with source.at(source.tree):
        return build(parser, module, name or source.tree.name, symbols, sizes or {})


def build(parser: KernelParser, module: ir.Module, name: str, symbols: ir.SymbolTable | None, sizes: Mapping[str, int]) -> func.FuncOp:
    """The prim_func of a parser's source: inputs, integers, then outputs; an in-place parameter is an input and an output."""
    tree, location = parser.source.tree, parser.source.location(parser.source.tree)
    parameters, statements = parameters_of(parser, tree)
    specialize(parser, parameters, sizes)
    outputs, changed = outputs_of(parser, [p for p in parameters if p.shape is not None], statements)
    given = [p for p in parameters if p not in outputs or p in changed]
    inputs = [p for p in given if p.shape is not None] + [p for p in given if p.shape is None]
    outputs = [replace(p, name=f"{p.name}_out", changes=p.name) if p in changed else p for p in outputs]
    parameters = inputs + outputs
    with location:
        types = [p.relax_type for p in parameters]

        def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
            names = ir.ArrayAttr.get([ir.StringAttr.get(p.name) for p in parameters])
            ir.InsertionPoint.current.block.owner.attributes[NAMES] = names  # before the body, whose errors name the arguments
            buffers = bind(parser, parameters, [*ins, *outs])
            parser.statements(statements)
            return [bufferization.ToTensorOp(out.type, buffers[p.name].value, restrict=True, writable=True).result
                    for p, out in zip(outputs, outs)]

        kernel = tir.prim_func(module, name, [p.relax_type for p in inputs], [p.relax_type for p in outputs], body, location, symbols)
        marks = [s.value for s in tree.body if isinstance(s, ast.Expr) and parser.word(s.value) == "func_attr"]
        scheduled = any(is_scheduled(call) for call in marks if isinstance(call, ast.Call))
        set_state(kernel, SCHEDULED if scheduled else WRITTEN)
        if changed:
            places = [next((n for n, i in enumerate(inputs) if i.name == o.changes), -1) for o in outputs]
            kernel.attributes[INPLACE] = ir.DenseI64ArrayAttr.get(places)
        kernel.attributes[SIGNATURE] = ir.TypeAttr.get(ir.FunctionType.get(types, types[len(inputs):]))
    return kernel
