"""Calls of kernels, which are built for the sizes of the operands."""

from collections.abc import Mapping, Sequence
from typing import Any

from legato.core.mlir import func, ir
from legato.dialects.relax import dims
from legato.dialects.tir.markers import INPLACE, NAMES, SIGNATURE
from legato.frontends.script.language.functions import Function
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.program import Program, call_kernel, plain


def call(program: Program, callee: Function, operands: list[ir.Value], outputs: list[ir.Type], main: func.FuncOp,
         integers: Sequence[Any] | None = None, starts: Mapping[int, ir.Value] | None = None) -> list[ir.Value]:
    """Builds a call of a kernel for these types at the insertion point in ``main``. Misuse where they do not fit the kernel.

    ``integers``: the values of its integer parameters, where they are not sizes of the operands; ``starts``: what outputs hold before the
    call, by their numbers.
    """
    kernel = program.signature(callee)
    signature, names = kernel.attributes[SIGNATURE].value, [a.value for a in kernel.attributes[NAMES]]
    tensors = [t for t in signature.inputs if not isinstance(t, ir.IndexType)]
    if len(tensors) != len(operands) + len(outputs) or len(outputs) != len(signature.results):
        results = len(signature.results)
        raise Misuse(f"'{callee.__name__}' takes {len(tensors) - results} tensors and has {results} outputs; "
                      f"{len(operands)} and {len(outputs)} are given"
                      + ("; it changes arguments in place: R.call_tir_inplace" if INPLACE in kernel.attributes else ""))
    table: dict[str, Any] = {}
    given = [v.type for v in operands] + outputs
    called = [n for n, t in zip(names, signature.inputs) if not isinstance(t, ir.IndexType)]
    scalars = [n for n, t in zip(names, signature.inputs) if isinstance(t, ir.IndexType)]
    if integers is not None:
        table |= {dims.symbol_name(n): s for n, s in zip(scalars, integers)}
    for name, expected, found in zip(called, tensors, given):
        match_type(table, callee.__name__, name, expected, found)
    for name in scalars:
        if dims.symbol_name(name) not in table:
            raise Misuse(f"'{callee.__name__}' takes the integer '{name}': give it by tir_vars=R.shape([...])")
    inner = {dims.symbol_name(n) for n in scalars}
    kernel = program.kernel(callee, {n: s for n, s in table.items() if isinstance(s, int) and n not in inner})
    values = [dims.materialize(table[dims.symbol_name(n)], main) for n in scalars]
    return call_kernel(kernel, [*(plain(v) for v in operands), *values], outputs, main, starts)


def match_type(table: dict[str, Any], callee: str, name: str, expected: ir.Type, found: ir.Type) -> None:
    """Enters the kernel's size symbols into ``table`` with the sizes in a call. Misuse where the types do not fit."""
    wrong = Misuse(f"'{callee}' has {shown(expected)} for {name}; here it is {shown(found)}")
    if expected.rank != found.rank or expected.element_type != found.element_type:
        raise wrong
    later = []
    for size, actual in zip(dims.dims(expected), dims.dims(found)):
        if isinstance(size, dims.Dim) and size.is_symbol:
            if not dims.compatible(table.setdefault(str(size), actual), actual):
                raise Misuse(f"'{callee}': the size {size} is {table[str(size)]} elsewhere, and {actual} in {name}")
        else:
            later.append((size, actual))
    for size, actual in later:
        expectation = size if isinstance(size, int) else dims.substitute(size, table)
        known = isinstance(expectation, int) or all(s in dims.symbols(actual) or s in table for s in dims.symbols(expectation))
        if known and not dims.compatible(expectation, actual):
            raise wrong


def shown(type_: ir.Type) -> str:
    """A tensor type as messages show it."""
    sizes = ", ".join(map(str, dims.dims(type_)))
    return f"({sizes}) of {type_.element_type}"
