"""The base of backends for engines with an ONNX parser."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from legato.core.errors import LegatoError
from legato.dialects.artifacts import Blob
from legato.dialects.module import Module
from legato.targets.backend import Backend
from legato.targets.backends.onnx import export, op_patterns
from legato.targets.target import nearest


class OnnxEngine(Backend):
    """Each function of the external module becomes an ONNX model, which the engine compiles when the model is loaded.

    ``ops``: use only these (``["conv2d", "relu"]``). Option of the code generation: ``threads`` (1).
    """

    pipeline = "relax-inline,relax-infer-shapes"
    patterns = op_patterns()
    options = ("threads",)
    loader: str = ""

    def __init__(self, ops: Iterable[str] | None = None):
        if ops is not None:
            known = {one.name: one for one in type(self).patterns}
            missing = [op for op in ops if op not in known]
            if missing:
                raise LegatoError(f"the backend '{self.name}' does not take '{missing[0]}'{nearest(missing[0], known)}")
            self.patterns = [known[op] for op in ops]

    def check_options(self, options: Mapping[str, str]) -> None:
        """LegatoError for anything but a number of threads."""
        super().check_options(options)
        threads = options.get("threads", "1")
        if not threads.isdigit() or not int(threads):
            raise LegatoError(f"the backend '{self.name}': threads is '{threads}', expected 1 or more")

    def codegen(self, module: Module, options: Mapping[str, str]) -> Sequence[Blob]:
        """A blob for each function: the model with its weights."""
        blobs = []
        for function in module.functions():
            name = function.name.value
            model = export(module, name)
            entry = model.metadata_props.add()
            entry.key, entry.value = "legato.threads", options.get("threads", "1")
            if model.ByteSize() >= 1 << 31:
                raise LegatoError(f"the part @{name} for the backend '{self.name}' has {model.ByteSize()} bytes of weights; an ONNX model "
                                  "in one piece has less than 2 GB")
            blobs.append(Blob(model.SerializeToString(), self.loader, (name,)))
        return blobs
