"""Python-defined dialects whose definition in IRDL is made once in a process, and only read for each further context."""
import io
from collections.abc import Callable

from legato.core.mlir import ext, ir

_emitted: dict[type[ext.Dialect], tuple[int, bytes]] = {}


def emitted_once(dialect: type[ext.Dialect], emit: Callable[[], ir.Module]) -> ir.Module:
    """The definition of a dialect in the current context, which ``emit`` makes the first time, and again for a dialect that got an op, a
    type or an attribute since. Contexts come one a model; making a definition op by op takes some 5 ms, reading it less than 1."""
    members = members_of(dialect)
    if dialect in _emitted and _emitted[dialect][0] == members:
        return ir.Module.parse(_emitted[dialect][1])
    module = emit()
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    _emitted[dialect] = members, written.getvalue()
    return module


def members_of(dialect: type[ext.Dialect]) -> int:
    """The number of a dialect's ops, types and attributes, of which none goes away."""
    return len(dialect.operations) + len(dialect.types) + len(dialect.attributes)
