"""The first instance of a model, which for a model of a device may have to wait for the device."""
from collections.abc import Callable
from typing import Any

from legato.core.errors import LegatoError
from legato.runtime.signature import Signature

Instance = Callable[..., Any]
_NOT_MADE = (RuntimeError, MemoryError, ValueError)     # what the entry of a model for a device raises


def first_instance(signature: Signature, make: Callable[[], Instance]) -> Instance:
    """An instance. LegatoError if the model is for a device, and there is no driver, no device, one that does not run its code, or no
    memory."""
    if not signature.device:
        return make()
    try:
        return make()
    except _NOT_MADE as error:
        raise LegatoError(str(error)) from None


def first_instance_here_or_elsewhere(signature: Signature, make: Callable[[], Instance]) -> Instance:
    """An instance of a model that was just compiled. Where its device cannot be had, the model can be saved still: calls of it try again,
    and raise the LegatoError."""
    try:
        return first_instance(signature, make)
    except LegatoError:
        made: list[Instance] = []

    def later(*args: Any) -> Any:
        if not made:
            made.append(first_instance(signature, make))
        return made[0](*args)

    return later
