"""Old names of parameters and functions: they work, and warn."""
from collections.abc import Callable, Mapping
from typing import Any
from warnings import warn


def renamed_argument(given: Any, old: str, old_value: Any, new: str) -> Any:
    """The value of a parameter that was called ``old``: ``given`` under its new name, or ``old_value`` with a DeprecationWarning in the
    caller's caller. TypeError if both are given."""
    if old_value is None:
        return given
    if given is not None:
        raise TypeError(f"{new}= and {old}= are the same parameter: give {new}= only")
    warn(f"{old}= is called {new}= now", DeprecationWarning, stacklevel=3)
    return old_value


def renamed_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that answers old names with the values of the new ones, and warns."""
    import sys

    def answer(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'", name=name, obj=sys.modules[module])
        warn(f"{module}.{name} is called {module}.{names[name]} now", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return answer
