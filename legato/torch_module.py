"""``legato.compile_torch``: a compiled PyTorch module that is called as the module itself."""
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from legato.driver import compile
from legato.frontends.torch import import_torch
from legato.frontends.torch.signature import TorchSignature
from legato.frontends.torch.tensors import result_tensors
from legato.runtime import Executable

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]


class TorchModule:
    """A compiled module: takes the arguments of its ``forward``, and returns results in its structure (dicts, dataclasses, tuples).

    ``executable``: the compiled model, on flat tensors, which can be saved, explained and profiled.
    """

    def __init__(self, executable: Executable, signature: TorchSignature) -> None:
        self.executable, self._signature = executable, signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """One inference. Tensors that are not dense are copied; results have no gradients. A module that draws random numbers takes the
        keyword ``random_seed`` as well, 0 by default."""
        own = self._signature.parameters.parameters if self._signature.parameters is not None else ()
        seed = {name: kwargs.pop(name) for name in self.executable.defaults if name in kwargs and name not in own}
        return self._signature.structured(result_tensors(self.executable(*self._signature.flat(args, kwargs), **seed)))

    def __repr__(self) -> str:
        return f"<legato.TorchModule: {self._signature.label}, {self.executable}>"


def compile_torch(model: "torch.nn.Module | torch.export.ExportedProgram", args: Sequence[Any] = (),
                  kwargs: Mapping[str, Any] | None = None, *, dynamic_shapes: Mapping[str, Any] | Sequence[Any] | None = None,
                  **settings: Any) -> TorchModule:
    """Imports and compiles a PyTorch module; what it returns is called as the module is, and returns what the module returns.

    ``args``, ``kwargs``, ``dynamic_shapes``: as for ``from_torch``; ``settings``: as for ``compile`` (``target="llvm{threads=2}"``).
    Numbers, flags and None among the arguments, and arguments that the example does not have, are fixed by the import: another value in
    a call is an error. Errors: those of ``from_torch`` and ``compile``; LegatoError for a call whose arguments have another structure.

    ```py
    fast = legato.compile_torch(model, kwargs={"input_ids": ids, "attention_mask": mask})
    logits = fast(input_ids=ids, attention_mask=mask).logits
    ```
    """
    module, signature = import_torch(model, args, kwargs, dynamic_shapes=dynamic_shapes)
    return TorchModule(compile(module, **settings), signature)
