"""Why torch's ONNX exporter fails: its errors without their advice on how to report a bug of torch, and with the op that they are about."""
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from legato.core.errors import LegatoError

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]


class UntranslatedError(Exception):
    """An op of the program that the exporter does not translate; the text says which, and why."""


@contextmanager
def naming(node: "torch.fx.Node") -> Iterator[None]:
    """Where the exporter translates an op: what fails there says so."""
    try:
        yield
    except Exception as error:
        raise UntranslatedError(_of_node(node, error)) from error


def reason(error: BaseException) -> str:
    """What the exporter's error says of the cause."""
    while error.__cause__ is not None and not isinstance(error, UntranslatedError):
        error = error.__cause__
    return str(error) if isinstance(error, (UntranslatedError, LegatoError)) else f"{type(error).__name__}: {error}".strip()


def _of_node(node: "torch.fx.Node", error: BaseException) -> str:
    import torch  # pyright: ignore[reportMissingImports]
    from torch.onnx._internal.exporter import _errors  # pyright: ignore[reportMissingImports]

    from legato.frontends.torch.decompositions import decompositions

    stack = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values() if isinstance(path, str)]
    module = stack[-1].removeprefix("L['self']").removeprefix(".") if stack else ""
    what = f"'{module}/{node.name}' ({_operator(node.target)})" if module else f"'{node.name}' ({_operator(node.target)})"
    if isinstance(error, _errors.DispatchError):
        if node.target in decompositions():
            return (f"its exporter has no translation of {what}, and Legato's does not cover it for {_arguments(node)}: known and smaller "
                    "sizes may do, or other ops")
        return f"its exporter has no translation of {what}. Write it in terms of other ops"
    computed = [one.name for one in node.all_input_nodes if isinstance(one.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool))]
    while error.__cause__ is not None:
        error = error.__cause__
    if computed and isinstance(error, TypeError):
        return (f"its exporter takes only known numbers for {what}, and {', '.join(computed)} is computed from sizes that a call gives. "
                "Fix the size, or write the op in terms of tensors")
    return f"its exporter fails at {what}: {type(error).__name__}: {error}".strip()


def _arguments(node: "torch.fx.Node") -> str:
    """The types of an op's tensors: ``float32[s0, 3]``."""
    import torch  # pyright: ignore[reportMissingImports]

    values = [one.meta.get("val") for one in node.all_input_nodes]
    return ", ".join(f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
                     for value in values if isinstance(value, torch.Tensor))


def _operator(target: object) -> str:
    """The name of an op: ``aten.elu.default``, ``flex_attention``, ``torch.sym_sqrt``."""
    name = getattr(target, "__name__", None) or getattr(target, "_name", None) or str(target)
    return str(target) if "OpOverload" in type(target).__name__ else name
