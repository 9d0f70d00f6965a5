"""``--emit=irdl``: the dialects that are defined in Python as IRDL, for tools that load dialects from files (``mlir-opt --irdl-file=``)."""
from __future__ import annotations

from collections.abc import Iterable

from legato.core.emitted_once import definition_of
from legato.core.mlir import ext, ir
from legato.dialects.loading import make_context
from legato.dialects.relax import Relax
from legato.dialects.tir.dialect import Tir


def irdl_text(dialects: Iterable[type[ext.Dialect]] = ()) -> str:
    """Legato's dialects, and the given ones, as one module of the IRDL dialect. It has what IRDL can say: ops, operands, attributes,
    types; verifiers written in Python are not in it."""
    context = make_context(dialects)
    with context, ir.Location.unknown():
        module = ir.Module.create()
        for dialect in dict.fromkeys((Relax, Tir, *dialects)):
            for op in definition_of(dialect).body.operations:
                module.body.append(op.operation.clone(ip=False))
        return str(module).rstrip("\n")
