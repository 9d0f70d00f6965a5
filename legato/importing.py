"""The face's ``from_onnx``: while the weights are read from a large file, it imports what a compile will need."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial, wraps
from importlib import import_module
from typing import Any

from legato.core import background, search
from legato.frontends import onnx

USUAL = "llvm"      # the target
FOR_ALL = ("legato.driver", "legato.compile_cache", "legato.codegen.jit", "legato.host_device", "legato.codegen.units")


def _begin_search() -> None:
    from legato.codegen.search import begin

    begin()


search.begin_other = _begin_search


@wraps(onnx.from_onnx)
def from_onnx(*args: Any, **options: Any) -> Any:
    with background.meanwhile(_imports()):
        return onnx.from_onnx(*args, **options)


def _import(name: str) -> None:
    with suppress(ImportError):     # the compile says what is missing
        import_module(name)


def _imports() -> Iterator[Callable[[], object]]:
    """Imports of a compile for the usual target: those of all compiles, then the passes one by one."""
    yield from (partial(_import, name) for name in FOR_ALL)

    from legato.passes.pipeline.registry import PASSES, load
    from legato.targets.catalog import Catalog

    text = " ".join(passes for _, passes in Catalog().resolve(USUAL).templates())
    named = dict.fromkeys(re.findall(r"[a-z][a-z0-9-]+", text))
    yield from (partial(load, name) for name in named if name in PASSES)
