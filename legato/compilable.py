"""What is compiled: a module, or what makes one."""
from typing import Protocol

from legato.core.errors import LegatoError
from legato.dialects.module import Module


class ModuleMaker(Protocol):
    """What stands for a module: a function of ``legato.script``."""

    def module(self) -> Module:
        """A new module."""
        ...


Compilable = Module | ModuleMaker


def own_copy(module: Compilable) -> Module:
    """A copy of a module, or the module made by a script function. LegatoError for any other value."""
    if isinstance(module, Module):
        return module.clone()
    make = getattr(module, "module", None)
    if not callable(make):
        raise LegatoError("expected a legato.Module (legato.from_onnx makes one of a file or a ModelProto) or a function of legato.script, "
                          f"found {type(module).__name__}")
    return module.module()
