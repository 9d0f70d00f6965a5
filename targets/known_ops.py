"""The ops that rules may be written for; a rule for any other is an error."""
from functools import cache

from legato.core import mlir
from legato.core.errors import LegatoError
from legato.core.mlir import ext
from legato.dialects.relax import semantics
from legato.targets.rule import Form, Rule
from legato.targets.target import nearest

UPSTREAM = ("affine", "arith", "bufferization", "func", "linalg", "math", "memref", "scf", "tensor", "vector")


@cache
def upstream_ops() -> frozenset[str]:
    """The ops of the upstream dialects that rules may be written for."""
    found: set[str] = set()
    for dialect in UPSTREAM:
        for value in vars(getattr(mlir, dialect)).values():
            name = getattr(value, "OPERATION_NAME", "")
            if isinstance(value, type) and name.startswith(f"{dialect}."):
                found.add(name)
    return frozenset(found)


def python_ops() -> set[str]:
    """The ops of all dialects defined in Python in this process, Legato's and the user's."""
    names = set(semantics)
    for dialect in ext.Dialect.__subclasses__():
        names |= {op.OPERATION_NAME for op in dialect.operations if hasattr(op, "OPERATION_NAME")}
    return names


def canonical(name: str) -> str:
    """The op's name. ``tir.exp`` is an alias of ``math.exp``: tir defines only functions that math and arith lack."""
    if name.startswith("tir.") and name not in python_ops():
        return next((known for d in ("math", "arith") if (known := f"{d}.{name[4:]}") in upstream_ops()), name)
    return name


def check_op(name: str, what: str) -> str:
    """The canonical name. LegatoError, with similar names, for an op of no dialect."""
    if not isinstance(name, str):
        raise LegatoError(f"{what}: ops are named by text, such as 'relax.softmax'; found {name!r}")
    name = canonical(name)
    if name in upstream_ops():
        return name
    known = python_ops()
    if name in known:
        return name
    raise LegatoError(f"{what}: there is no op '{name}'{nearest(name, known | upstream_ops())}")


def is_graph_op(name: str) -> bool:
    """Whether the op is a graph op: of relax, or of a user's dialect of graph ops."""
    return name in semantics


def check_form(op: str, form: Form, what: str) -> None:
    """LegatoError for an intrinsic rule of a graph op, and for a rule of another form of any other op."""
    if (form == "intrinsic") == is_graph_op(op):
        raise LegatoError(f"{what}: {op} is {'a' if is_graph_op(op) else 'no'} graph op: form '{form}' does not fit")


def check_rule(rule: Rule, what: str) -> None:
    """LegatoError, which begins with ``what``, for a rule of an op that does not exist, or that has rules of another form."""
    check_form(check_op(rule.op, what), rule.form, f"{what}: the rule {rule.name} ({rule.source})")
