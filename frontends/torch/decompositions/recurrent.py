"""Recurrent layers that ONNX's ops lack, in terms of those that it has."""
from collections.abc import Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _projected_lstm(x: Any, states: Sequence[Any], parameters: Sequence[Any], has_biases: bool, layers: int, dropout: float, train: bool,
                    bidirectional: bool, batch_first: bool) -> Any:
    """An LSTM whose hidden state is projected (``proj_size``), of which the exporter drops the projection.

    With h = P u for the state u before the projection, W_h h is (W_h P) u: an LSTM of u. Its initial u is 0; W_h h0 is added to the
    gates of the first step by features of the input, which are h0 there and 0 in the other steps.
    """
    directions = 2 if bidirectional else 1
    each = len(parameters) // (layers * directions)
    if each == (4 if has_biases else 2) or (train and dropout):
        return NotImplemented
    if batch_first:
        x = x.transpose(0, 1)
    finals: list[list[Any]] = [[], []]
    for layer in range(layers):
        first = layer * directions
        own = [parameters[(first + d) * each:(first + d + 1) * each] for d in range(directions)]
        hidden, cells = (state[first:first + directions] for state in states)
        x, *ends = _layer(x, hidden, cells, own, has_biases)
        for final, end in zip(finals, ends, strict=True):
            final.append(end)
    return x.transpose(0, 1) if batch_first else x, torch.cat(finals[0]), torch.cat(finals[1])


def _layer(x: Any, hidden: Any, cells: Any, directions: Sequence[Sequence[Any]], has_biases: bool) -> tuple[Any, Any, Any]:
    """One layer of x [steps, batch, features], of one or two directions: (outputs, the last hidden states, the last cells)."""
    weights = []
    for number, (of_input, of_hidden, *biases, projection) in enumerate(directions):
        of_first = [of_hidden if other == number else torch.zeros_like(of_hidden) for other in range(len(directions))]
        weights += [torch.cat([of_input, *of_first], 1), of_hidden @ projection, *biases]
    steps = torch.arange(x.shape[0]).view(-1, 1, 1)
    starts = [torch.where(steps == at, state, 0) for state, at in zip(hidden.unbind(0), (0, x.shape[0] - 1))]
    widened = torch.cat([x, *starts], 2)
    found, last, cells = aten.lstm.input(widened, [torch.zeros_like(cells), cells], weights, has_biases, 1, 0.0, False,
                                         len(directions) == 2, False)
    projections = [parameters[-1] for parameters in directions]
    parts = found.split(cells.shape[2], 2)
    outputs = [functional.linear(part, projection) for part, projection in zip(parts, projections, strict=True)]
    ends = [functional.linear(one, projection) for one, projection in zip(last.unbind(0), projections, strict=True)]
    return torch.cat(outputs, 2), torch.stack(ends), cells


RECURRENT = {aten.lstm.input: _projected_lstm}
