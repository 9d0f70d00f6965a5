"""Python-defined dialects whose definition in IRDL is made once in a process, and only read for each further context."""
import io
from collections.abc import Callable

from legato.core.mlir import ext, ir

CLEAN = "any(canonicalize,cse)"     # as the bindings do to each definition that they load

_emitted: dict[type[ext.Dialect], tuple[int, bytes]] = {}


def emitted_once(dialect: type[ext.Dialect], emit: Callable[[], ir.Module]) -> ir.Module:
    """What the bindings shall define a dialect by in the current context: what ``emit`` makes the first time, and again for a dialect that
    got an op, a type or an attribute since. Else nothing, since it is defined here. Contexts come one a model; making a definition op by op
    takes some 5 ms, reading one that is clean less than 1."""
    members = members_of(dialect)
    if dialect in _emitted and _emitted[dialect][0] == members:
        ext.irdl.load_dialects(ir.Module.parse(_emitted[dialect][1]))
        with ir.Location.unknown():
            return ir.Module.create()
    module = emit()
    ext.PassManager.parse(CLEAN).run(module.operation)
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    _emitted[dialect] = members, written.getvalue()
    return module


def definition_of(dialect: type[ext.Dialect]) -> ir.Module:
    """The definition of a dialect, which has just been loaded into the current context, as loaded."""
    return ir.Module.parse(_emitted[dialect][1]) if dialect in _emitted else dialect._mlir_module


def members_of(dialect: type[ext.Dialect]) -> int:
    """The number of a dialect's ops, types and attributes, of which none goes away."""
    return len(dialect.operations) + len(dialect.types) + len(dialect.attributes)
