"""The backends available to one call: Legato's own, those of installed packages, and those given to the call."""
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from legato.core.errors import LegatoError
from legato.targets.backend import Backend, as_backend
from legato.targets.target import nearest

GROUP = "legato.backends"
# module in backends/ -> class
BUILTIN = {"onnxruntime": "OnnxRuntime", "openvino": "OpenVino", "tensorrt": "TensorRt", "onednn": "OneDnn"}


class BackendCatalog:
    """Backends by name. ``given`` ones, values or classes, take precedence. LegatoError if two of them have the same name."""

    def __init__(self, given: Iterable[Any] = ()):
        self._found: dict[str, Backend] = {}
        for one in given:
            if isinstance(one, str):
                continue
            backend = as_backend(one)
            if self._found.setdefault(backend.name, backend) is not backend:
                raise LegatoError(f"two backends are named '{backend.name}': {self._found[backend.name]!r} and {backend!r}")

    def names(self) -> list[str]:
        """The names of all backends, sorted."""
        return sorted({*self._found, *BUILTIN, *(entry.name for entry in installed())})

    def resolve(self, name: str) -> Backend:
        """The backend of that name. LegatoError, listing those there are, if it is unknown or cannot be loaded."""
        if name not in self._found:
            entry = next((e for e in installed() if e.name == name), None)
            if entry is not None:
                self._found[name] = _load(entry)
            elif name in BUILTIN:
                self._found[name] = as_backend(getattr(import_module(f".backends.{name}", __package__), BUILTIN[name]))
            else:
                raise LegatoError(f"unknown backend '{name}'{nearest(name, self.names())}; others come from installed packages (entry "
                                  f"points of the group {GROUP}), from backends=[...] and from --load FILE.py or MODULE")
        return self._found[name]


def installed() -> Iterable[EntryPoint]:
    """The entry points of installed packages that define backends."""
    return entry_points(group=GROUP)


def _load(entry: EntryPoint) -> Backend:
    try:
        backend = as_backend(entry.load())
    except LegatoError:
        raise
    except Exception as error:
        raise LegatoError(f"the entry point {GROUP}:{entry.name} = {entry.value} cannot be loaded: "
                          f"{type(error).__name__}: {error}") from error
    if backend.name != entry.name:
        raise LegatoError(f"the entry point {GROUP}:{entry.name} = {entry.value} is a backend of another name, '{backend.name}'")
    return backend
