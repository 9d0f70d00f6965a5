"""How a PyTorch module is called: its arguments as the flat tensors that a compiled model takes, and its results in their own structure."""
from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from legato.core.errors import LegatoError
from legato.frontends.torch.caches import forgotten_tokens

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]

UNREAD = object()   # in the place of a tensor that the exporter has dropped


@dataclass(frozen=True)
class TorchSignature:
    """The arguments and results of a module as torch's exporter saw them.

    ``parameters``: those of ``forward``, None for a program; ``positional``: how many arguments the example gave by position; ``keywords``:
    the names of the others; ``tree``, ``result_tree``: torch's specs of the arguments and of the result; ``leaves``: of each argument the
    number of the model's input, or None and the value that the import fixed; ``results``: of each result the number of the model's
    output, or None and its value; ``complex_inputs``, ``complex_outputs``: the inputs and outputs of the model that are pairs of numbers,
    and complex numbers of the module; ``numbers``: the outputs that are numbers of Python's, as sizes are.
    """

    label: str
    parameters: inspect.Signature | None
    positional: int
    keywords: tuple[str, ...]
    tree: Any
    leaves: tuple[tuple[int | None, Any], ...]
    result_tree: Any
    results: tuple[tuple[int | None, Any], ...]
    complex_inputs: frozenset[int] = frozenset()
    complex_outputs: frozenset[int] = frozenset()
    numbers: frozenset[int] = frozenset()

    @classmethod
    def of(cls, program: torch.onnx.ONNXProgram, model: object, label: str, constants: Mapping[int, Any]) -> TorchSignature:
        """The signature of a program; ``model``: what it was exported from; ``constants``: values of results that the program says are
        None."""
        import torch  # pyright: ignore[reportMissingImports]

        exported = program.exported_program
        kinds = torch.export.graph_signature
        inputs = {value.name: number for number, value in enumerate(program.model.graph.inputs)}
        values = ((node.name, node.meta.get("val")) for node in exported.graph.nodes)
        pairs = {name for name, value in values if isinstance(value, torch.Tensor) and value.is_complex()}
        complex_inputs, complex_outputs = set[int](), set[int]()
        leaves: list[tuple[int | None, Any]] = []
        for spec in exported.graph_signature.input_specs:
            if spec.kind == kinds.InputKind.USER_INPUT:
                fixed = isinstance(spec.arg, kinds.ConstantArgument)
                leaves.append((None, spec.arg.value) if fixed else (inputs.get(spec.arg.name), UNREAD))
                if spec.arg.name in pairs and spec.arg.name in inputs:
                    complex_inputs.add(inputs[spec.arg.name])
        results: list[tuple[int | None, Any]] = []
        numbers = set[int]()
        count = 0
        for spec in exported.graph_signature.output_specs:
            if spec.kind == kinds.OutputKind.USER_OUTPUT:
                fixed = isinstance(spec.arg, kinds.ConstantArgument)
                results.append((None, constants.get(len(results), spec.arg.value)) if fixed else (count, None))
                if spec.arg.name in pairs:
                    complex_outputs.add(count)
                if isinstance(spec.arg, (kinds.SymIntArgument, kinds.SymFloatArgument, kinds.SymBoolArgument)):
                    numbers.add(count)
                count += not fixed
        positional, keywords = exported.call_spec.in_spec.children()
        return cls(label, inspect.signature(model.forward) if isinstance(model, torch.nn.Module) else None, positional.num_children,
                   tuple(keywords.context or ()), exported.call_spec.in_spec, tuple(leaves), exported.call_spec.out_spec, tuple(results),
                   frozenset(complex_inputs), frozenset(complex_outputs), frozenset(numbers))

    def flat(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[torch.Tensor]:
        """The tensors of a call as the model takes them, in the order of its inputs. LegatoError for arguments of another structure than
        the example's, for other numbers and flags, and for tensors without strides."""
        from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

        args, kwargs = self._as_in_example(args, kwargs)
        forgotten = forgotten_tokens((args, kwargs))
        if forgotten is not None and not self._positions_given(args, kwargs):
            raise LegatoError(f"{self.label}: a cache that keeps {forgotten[0]} tokens, in a window of {forgotten[1]}, does not tell how "
                              "many it has seen, from which the positions of new tokens follow: import the module with position_ids, and "
                              "give them")
        paths, tree = _pytree.tree_flatten_with_path((args, kwargs))
        if tree != self.tree:
            paths, tree = _pytree.tree_flatten_with_path(self._ordered((args, kwargs)))
        if tree != self.tree:
            example = _pytree.tree_flatten_with_path(_pytree.tree_unflatten([0] * self.tree.num_leaves, self.tree))[0]
            raise LegatoError(f"{self.label} was imported with arguments of another structure: {_places(example)}; this call has "
                              f"{_places(paths)}")
        found: dict[int, torch.Tensor] = {}
        for (path, value), (number, fixed) in zip(paths, self.leaves, strict=True):
            if number is not None:
                found[number] = self._taken(value, number)
            elif fixed is not UNREAD and (type(value) is not type(fixed) or value != fixed):
                raise LegatoError(f"{self.label}: the argument {_places([(path, value)])} is {value!r}, and the import has fixed it to "
                                  f"{fixed!r}: import the module again with this value")
        return [found[number] for number in sorted(found)]

    def _ordered(self, arguments: Any) -> Any:
        """The arguments with the entries of dicts in the example's order; as they are if they have another structure."""
        from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

        try:
            return _pytree.tree_unflatten(self.tree.flatten_up_to(arguments), self.tree)
        except ValueError:
            return arguments

    def _taken(self, value: Any, number: int) -> torch.Tensor:
        """A value of a call as the model takes it: a dense tensor without gradients, complex numbers as pairs."""
        import torch  # pyright: ignore[reportMissingImports]

        if not isinstance(value, torch.Tensor):
            raise LegatoError(f"{self.label} was imported with a tensor where this call has {type(value).__name__} {value!r}")
        if value.layout != torch.strided:
            raise LegatoError(f"{self.label} takes dense tensors, and this call has one with {value.layout}")
        if value.is_complex() != (number in self.complex_inputs):
            example = "real" if value.is_complex() else "complex"
            raise LegatoError(f"{self.label} was imported with a tensor of {example} numbers where this call has one of {value.dtype}")
        return (torch.view_as_real(value.detach().resolve_conj()) if value.is_complex() else value.detach()).contiguous()

    def _as_in_example(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments by position and by keyword as the example had them. Those that it did not have must have their defaults."""
        if self.parameters is None:
            return tuple(args), {name: kwargs[name] for name in (*self.keywords, *kwargs) if name in kwargs}
        try:
            given = self.parameters.bind(*args, **kwargs)
        except TypeError as error:
            raise LegatoError(f"{self.label}: {error}") from None
        kinds = {name: one.kind for name, one in self.parameters.parameters.items()}
        if any(kind == inspect.Parameter.VAR_POSITIONAL for kind in kinds.values()):
            return tuple(args), dict(kwargs)
        names = [name for name, kind in kinds.items() if kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)]
        given.apply_defaults()
        values = {**given.arguments, **given.arguments.get(self._open or "", {})}
        values.pop(self._open or "", None)
        known = [*names[: self.positional], *self.keywords]
        for name, value in values.items():
            default = self.parameters.parameters[name].default if name in self.parameters.parameters else inspect.Parameter.empty
            if name not in known and value is not default:
                raise LegatoError(f"{self.label} was imported without the argument '{name}': import it again with an example of it")
        return tuple(values[name] for name in names[: self.positional]), {name: values[name] for name in self.keywords if name in values}

    def _positions_given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether these arguments say the positions of tokens."""
        names = list(self.parameters.parameters)[: len(args)] if self.parameters is not None else []
        return any(({**dict(zip(names, args)), **kwargs}).get(name) is not None for name in ("position_ids", "cache_position"))

    @property
    def _open(self) -> str | None:
        """The name of ``**kwargs`` in ``forward``."""
        assert self.parameters is not None
        return next((name for name, one in self.parameters.parameters.items() if one.kind == one.VAR_KEYWORD), None)

    def structured(self, outputs: Sequence[torch.Tensor]) -> Any:
        """The result that these outputs of the model are, in the module's own structure."""
        import torch  # pyright: ignore[reportMissingImports]
        from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

        values = [torch.view_as_complex(value) if number in self.complex_outputs else value.item() if number in self.numbers else value
                  for number, value in enumerate(outputs)]
        return _pytree.tree_unflatten([fixed if number is None else values[number] for number, fixed in self.results], self.result_tree)


def _places(leaves: Sequence[tuple[Any, Any]]) -> str:
    """Where the leaves of arguments are: ``args[0], kwargs['extra']['bias']``."""
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    return ", ".join(("args", "kwargs")[path[0].idx] + _pytree.keystr(path[1:]) for path, _ in leaves) or "none"
