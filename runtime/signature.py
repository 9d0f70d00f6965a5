"""The metadata of a compiled model: inputs, outputs, weights, and what it needs to run."""
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

import ml_dtypes
import numpy as np

from legato.core.errors import LegatoError
from legato.runtime.forms import ValueForm, forms_of, grouped

FORMAT = 4   # of the saved files whose metadata this version reads


@dataclass(frozen=True)
class Parameter:
    """An input, output or weight. Each size in ``shape`` is an int, a symbol's name, an expression of names, or ``?``."""

    name: str
    dtype: np.dtype
    shape: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Signature:
    """A model's metadata.

    donors: for each output, the number of the input whose memory it takes; -1 for memory of its own.
    weights: names are keys of the weight store, in the order in which their addresses are passed. packed: names of the packed functions
    that the code calls, passed after the weights; callers: for each, a description of its callers. cpu, features: LLVM's names, empty if
    the code is not for a specific CPU. openmp: whether the code calls an OpenMP runtime.
    threads: that it uses. device: ``cuda`` for code that launches kernels by the CUDA driver, else empty. version: the Legato that
    compiled it. text: the JSON. takes, gives: where an input or output is a list of tensors, or none, what a caller gives and gets; else
    empty. ``inputs`` and ``outputs`` have the tensors: ``images[0]``, ``images[1]``; of a list whose length a call decides those of its
    layout: ``y.data``, ``y.sizes``. defaults: for each input that a call may leave out, which come last, the weight that it then is.
    constant_inputs: the model's inputs that are constants in the code.
    """

    donors: tuple[int, ...]
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    symbols: tuple[str, ...]
    weights: tuple[Parameter, ...]
    packed: tuple[str, ...]
    callers: tuple[str, ...]
    cpu: str
    features: str
    openmp: bool
    threads: int
    device: str
    version: str
    text: str
    takes: tuple[ValueForm, ...] = ()
    gives: tuple[ValueForm, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    constant_inputs: tuple[str, ...] = ()

    def __str__(self) -> str:
        def listed(parameters: tuple[Parameter, ...], forms: tuple[ValueForm, ...], defaults: Collection[str]) -> str:
            forms = forms or tuple(ValueForm(p.name) for p in parameters)
            return ", ".join(f"{form.name}: {form.shown(parts)}{' = its default' * (form.name in defaults)}"
                             for form, parts in grouped(forms, parameters))

        return f"main({listed(self.inputs, self.takes, dict(self.defaults))}) -> ({listed(self.outputs, self.gives, ())})"

    @staticmethod
    def parse(text: str, where: str = "the module") -> "Signature":
        """Reads the JSON written by tir-emit-entry. LegatoError if it was written by a newer Legato."""
        data = json.loads(text)
        if data["format"] > FORMAT:
            raise LegatoError(f"{where} was made by Legato {data['legato']}, which is newer than this one: its metadata has format "
                              f"{data['format']}, and this version reads up to {FORMAT}. Update legato, or compile the model again")
        outputs = data["outputs"]
        return Signature(
            tuple(data.get("donors", [-1] * len(outputs))),
            _parameters(data["inputs"]), _parameters(outputs), tuple(data["symbols"]), _parameters(data["weights"]),
            tuple(data.get("packed", ())), tuple(data.get("callers", ())), data["target"]["cpu"], data["target"]["features"],
            data["openmp"], data.get("threads", 1), data.get("device", ""), data["legato"], text, forms_of(data.get("input_forms", ())),
            forms_of(data.get("output_forms", ())), tuple(data.get("defaults", {}).items()), tuple(data.get("constant_inputs", ())))

    def default_arrays(self, weights: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """The array of each input that a call may leave out. ``weights``: all arrays, in the order of the metadata."""
        held = {weight.name: array for weight, array in zip(self.weights, weights)} if self.defaults else {}
        return {name: held[key] for name, key in self.defaults}


def weight_bytes(weight: Parameter) -> int:
    """Size of a weight in bytes."""
    return prod(int(size) for size in weight.shape) * weight.dtype.itemsize


def _parameters(values: list[dict]) -> tuple[Parameter, ...]:
    return tuple(Parameter(v["name"], dtype_of(v["dtype"]), tuple(v["shape"])) for v in values)


def dtype_of(name: str) -> np.dtype:
    """The element type of that name, numpy's or one of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, name))
