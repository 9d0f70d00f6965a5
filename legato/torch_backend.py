"""The backend of ``torch.compile(model, backend="legato")``; torch finds it by the entry point ``torch_dynamo_backends``."""
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torch._dynamo.backends.common import aot_autograd  # pyright: ignore[reportMissingImports]
from torch._guards import CompileContext, TracingContext  # pyright: ignore[reportMissingImports]

from legato.core.errors import LegatoError
from legato.driver import compile
from legato.frontends.onnx import import_model
from legato.frontends.torch.decompositions import decompositions
from legato.frontends.torch.entries import ENTRIES
from legato.frontends.torch.graphs import TorchGraph
from legato.frontends.torch.tensors import result_tensors, shared_array
from legato.runtime import Executable

SETS_OF_WEIGHTS = 8   # for which one graph is compiled with its weights as constants, before they become inputs
_OPTIONS = ("target", "cache")


def torch_backend(module: torch.fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None,
                  mode: str | None = None) -> Callable[..., Any]:
    """Compiles a graph of torch.compile. ``options``: ``target`` and ``cache``, as for ``legato.compile``. LegatoError if gradients are
    asked for, or torch cannot export the graph; UnsupportedError for ops that Legato cannot import."""
    unknown = sorted({*(options or {})} - {*_OPTIONS})
    if unknown:
        raise LegatoError(f"torch.compile(backend='legato') has no option '{unknown[0]}', only {' and '.join(_OPTIONS)}")
    if mode not in (None, "default"):
        raise LegatoError(f"torch.compile(backend='legato') has no mode '{mode}'")
    if torch.is_grad_enabled() and any(isinstance(value, torch.Tensor) and value.requires_grad for value in example_inputs):
        _refuse_gradients()
    # views stay as they are until the export: those among the results are made of their bases, whose memory they share
    apart = {op: how for op, how in decompositions().items() if not op.is_view}
    aot = aot_autograd(fw_compiler=_refuse_gradients, inference_compiler=partial(_compiled, options=dict(options or {})),
                       decompositions=apart)
    return aot(module, example_inputs)


def _refuse_gradients(*_: Any) -> Any:
    raise LegatoError("torch.compile(backend='legato') compiles models for inference, and here gradients are asked for: call the model "
                      "under torch.no_grad() or torch.inference_mode()")


def _compiled(module: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """The function that AOTAutograd calls in place of the graph: from a list of arguments to a list of results."""
    graph = TorchGraph(module, f"torch.compile's graph {CompileContext.current_compile_id()}")
    compiled = CompiledGraph(graph, _unwritten_buffers(len(example_inputs)), options)
    compiled._boxed_call = True   # AOTAutograd's word for a function of one list
    return compiled


def _unwritten_buffers(count: int) -> frozenset[int]:
    """Which of the graph's arguments are parameters and buffers of modules that the graph does not write to."""
    context = TracingContext.try_get()
    about = context and context.fw_metadata
    if not about or len(about.input_info) != count:
        return frozenset()
    return frozenset(i for i in about.static_input_indices if not about.input_info[i].mutates_data)


class CompiledGraph:
    """A graph and the models compiled of it. Parameters and buffers are constants of a model, which packs them; a model is made for each
    set of them, told by their memory and torch's count of writes to it."""

    def __init__(self, graph: TorchGraph, static: frozenset[int], options: Mapping[str, Any]) -> None:
        """``static``: arguments that are always the same tensors, or nearly so; parameters are, too."""
        self._graph, self._static, self._options = graph, static, options
        self._models: dict[tuple, tuple[Executable, list[int]]] = {}
        self._kept: list[torch.Tensor] = []   # parameters whose addresses are keys

    def __call__(self, arguments: list[Any]) -> list[Any]:
        outputs: Sequence[Any] = ()
        if self._graph.computes:
            executable, inputs = self._model(arguments)
            seed = {name: torch.empty((), dtype=torch.int64).random_() for name in executable.defaults}     # by torch's own generator
            outputs = result_tensors(executable(*[_passable(self._graph.tensor(arguments[i])) for i in inputs], **seed))
            outputs = self._graph.received(outputs)
        results = [result(arguments, outputs) for result in self._graph.results]
        arguments.clear()
        return results

    def _model(self, arguments: Sequence[Any]) -> tuple[Executable, list[int]]:
        """The model for these arguments, and which of them are its inputs."""
        constants = [i for i in self._graph.inputs if (i in self._static or isinstance(arguments[i], torch.nn.Parameter))
                     and not arguments[i].is_inference()]   # torch counts no writes to a tensor made under inference_mode
        key = tuple([(arguments[i].data_ptr(), arguments[i]._version) for i in constants])
        if key not in self._models and len(self._models) >= SETS_OF_WEIGHTS:
            constants, key = [], ()
        if key not in self._models:
            arrays: dict[int, np.ndarray] = {i: shared_array(arguments[i]) for i in constants}
            self._kept += [arguments[i] for i in constants]
            executable = compile(import_model(self._graph.model(arrays), entries=ENTRIES), **self._options)
            self._models[key] = executable, [i for i in self._graph.inputs if i not in arrays]
        return self._models[key]


def _passable(tensor: torch.Tensor) -> torch.Tensor:
    """A dense tensor without gradients, on the same memory if it is dense already."""
    return tensor.detach().contiguous()
