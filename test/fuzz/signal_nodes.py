"""Random nodes on signals: Fourier transforms, windows, filters."""
from typing import Any

import numpy as np
from drawn_nodes import Array, Draw, DrawnNode, Make


def fourier(d: Draw) -> DrawnNode:
    rank, parts = d.rng.choice((1, 2, 3)), d.rng.choice((1, 2))
    shape = [d.size(1, 2, 3, 5, 8, 12, 16) for _ in range(rank)]
    axis, inverse = d.rng.randrange(rank), parts == 2 and d.some()
    attributes: dict[str, Any] = {"inverse": int(inverse), "onesided": int(parts == 1 and d.some())}
    x = d.normal(*([1] if rank == 1 else []), *shape, parts).astype(np.float32)
    inputs: list[Array | None] = [x]
    length = [np.array(d.width(1, 4, 7, 8, 15))] if d.some(0.4) else []
    if d.some(0.4):
        inputs += [*(length or [None]), np.array(axis + (rank == 1))]
        return DrawnNode("DFT", inputs, [2], domain="", opset=20, tolerance=1e-4, attributes=attributes)
    attributes["axis"] = axis + (rank == 1)
    return DrawnNode("DFT", [*inputs, *length], d.kept(1) if length else (), domain="", opset=17, tolerance=1e-4, attributes=attributes)


def short_fourier(d: Draw) -> DrawnNode:
    length, step = d.width(4, 8, 15, 16), d.width(1, 3, 8)
    signal = d.normal(d.size(1, 2, 3), d.size(16, 21, 40), d.rng.choice((1, 1, 2))).astype(np.float32)
    window = d.weight(length).astype(np.float32) if d.some(0.7) else None
    inputs = [signal, np.array(step), window, np.array(length)]
    onesided = int(signal.shape[2] == 1 and d.some(0.7))
    return DrawnNode("STFT", inputs, [1, 3, *([2] if window is not None else [])], domain="", opset=17, tolerance=1e-4,
                     attributes={"onesided": onesided})


def mel_weights(d: Draw) -> DrawnNode:
    rate = d.rng.choice((8000, 16000, 22050))
    inputs = [np.array(d.rng.choice((1, 8, 20))), np.array(d.rng.choice((16, 64, 400))), np.array(rate),
              np.array(d.rng.choice((0.0, 20.0, 300.0)), np.float32), np.array(d.rng.choice((rate / 2, rate / 3)), np.float32)]
    return DrawnNode("MelWeightMatrix", inputs, d.kept(*range(5)), domain="")


def window(d: Draw) -> DrawnNode:
    op = d.rng.choice(("HannWindow", "HammingWindow", "BlackmanWindow"))
    return DrawnNode(op, [np.array(d.size(1, 2, 3, 7, 16, 33))], d.kept(0) if d.some(0.4) else (), domain="", tolerance=1e-5,
                     attributes={"periodic": int(d.some())})


SIGNAL_NODES: tuple[Make, ...] = (fourier, fourier, short_fourier, mel_weights, window)
