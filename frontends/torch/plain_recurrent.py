"""Layers of ``torch.nn.RNN``: ONNX's RNN, which torch's exporter does not write, so that it unrolls the steps and fixes their number."""
from collections.abc import Callable, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten
_LAYERS = {aten.rnn_tanh.input: ("Tanh", torch.tanh), aten.rnn_relu.input: ("Relu", torch.relu)}


def recurrent_translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """What the layers are in ONNX, for ``torch.onnx.export(custom_translation_table=...)``."""
    return {op: _translation(activation) for op, (activation, _) in _LAYERS.items()}


def _translation(activation: str) -> Callable[..., Any]:
    from onnxscript import opset18 as op  # pyright: ignore[reportMissingImports]

    def layers(x: Any, states: Any, parameters: Sequence[Any], has_biases: bool, count: int, dropout: float, train: bool,
               bidirectional: bool, batch_first: bool) -> Any:
        directions, each = 2 if bidirectional else 1, 4 if has_biases else 2
        x = op.Transpose(x, perm=[1, 0, 2]) if batch_first else x
        finals = []
        for layer in range(count):
            first = layer * directions
            own = [parameters[number * each:(number + 1) * each] for number in range(first, first + directions)]
            weights, recurrences = (op.Concat(*(op.Unsqueeze(one[at], [0]) for one in own), axis=0) for at in (0, 1))
            biases = op.Concat(*(op.Unsqueeze(op.Concat(*one[2:], axis=0), [0]) for one in own), axis=0) if has_biases else None
            initial = op.Slice(states, [first], [first + directions], [0])
            outputs, final = op.RNN(x, weights, recurrences, biases, None, initial, hidden_size=states.shape[2],
                                    direction="bidirectional" if bidirectional else "forward", activations=[activation] * directions)
            x = op.Reshape(op.Transpose(outputs, perm=[0, 2, 1, 3]), [0, 0, -1])     # [steps, batch, directions * features]
            finals.append(final)
        return op.Transpose(x, perm=[1, 0, 2]) if batch_first else x, op.Concat(*finals, axis=0)

    return layers


def recurrent_loops() -> dict[Any, Callable[..., Any]]:
    """What the layers are as loops, by their ops, where torch finds the sizes of results. ImportError of a torch without such loops."""
    return {op: _loops(function) for op, (_, function) in _LAYERS.items()}


def _loops(activation: Callable[[Any], Any]) -> Callable[..., Any]:
    from torch._decomp import decompositions  # pyright: ignore[reportMissingImports]
    from torch._higher_order_ops.while_loop import while_loop  # pyright: ignore[reportMissingImports]

    def layer(x: Any, state: Any, parameters: Sequence[Any], has_biases: bool, reverse: bool = False) -> tuple[Any, Any]:
        of_input, of_state, *biases = parameters
        given = torch.nn.functional.linear(x, of_input, biases[0] if has_biases else None)
        given = given.flip(0) if reverse else given
        weight, bias = of_state.clone(), biases[1].clone() if has_biases else None      # the loop takes no views of one tensor

        def more(number: Any, outputs: Any, state: Any) -> Any:
            return number < given.size(0)

        def step(number: Any, outputs: Any, state: Any) -> Any:
            place = number.item()
            torch._check(place >= 0)
            torch._check(place < given.size(0))
            state = activation(given[place] + torch.nn.functional.linear(state, weight, bias))
            outputs = outputs.clone()
            outputs[place] = state
            return number + 1, outputs, state

        empty = torch.empty(given.size(0), *state.shape, dtype=state.dtype)
        _, outputs, final = while_loop(more, step, [torch.tensor(0), empty, state.clone()])
        return outputs.flip(0) if reverse else outputs, final

    def layers(x: Any, states: Any, parameters: Any, has_biases: bool, count: int, dropout: float, train: bool, bidirectional: bool,
               batch_first: bool) -> tuple[Any, Any]:
        parameters = decompositions.gather_params(parameters, has_biases, False)
        outputs, finals = decompositions._rnn_helper(x, list(states.unbind(0)), parameters, has_biases, count, dropout, train,
                                                     bidirectional, batch_first, layer)
        return outputs, torch.stack(finals, 0)

    return layers
