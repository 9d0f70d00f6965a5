"""tir-schedule: kernels that differ only in numbers that they compute with are scheduled once, and keep their numbers."""
import numpy as np
import pytest

import legato
from legato.dialects.module import Module
from legato.passes.structured import schedule

RNG = np.random.default_rng(0)
SIZE, X = 100, RNG.standard_normal(100).astype(np.float32)


def scheduled(graph, monkeypatch):
    """The executable, and the number of transform scripts that its compile has run."""
    counts = []

    def apply(scripts, given=schedule.apply_scripts):
        counts.append(len(scripts))
        given(scripts)

    monkeypatch.setattr(schedule, "apply_scripts", apply)
    return legato.compile(graph, "llvm", cache=False), sum(counts)


def module(lines, results):
    """main of one vector, whose last lines are transposes, so that the results are not one kernel."""
    text = "\n".join(lines)
    types = ", ".join([f"tensor<{SIZE}xf32>"] * len(results))
    return Module.parse(f"func.func @main(%x: tensor<{SIZE}xf32>) -> ({types}) {{\n{text}\nreturn {', '.join(results)} : {types}\n}}")


@pytest.mark.parametrize("scales", [(0.5, 0.25, 0.1), (0.5, 0.5, 0.25), (0.5, 0.0, -3.0), (0.5, float("inf"), float("nan"))])
def test_layers_that_differ_in_scales(scales, monkeypatch):
    type_ = f"tensor<{SIZE}xf32>"
    lines = []
    for number, scale in enumerate(scales):
        hexadecimal = f"0x{np.float32(scale).view(np.uint32):08X}"
        lines += [f'%s{number} = "relax.constant"() {{value = dense<{hexadecimal}> : tensor<f32>}} : () -> tensor<f32>',
                  f'%a{number} = "relax.multiply"(%x, %s{number}) : ({type_}, tensor<f32>) -> {type_}',
                  f'%e{number} = "relax.exp"(%a{number}) : ({type_}) -> {type_}']
    graph = module(lines, [f"%e{number}" for number in range(len(scales))])
    exe, count = scheduled(graph, monkeypatch)
    assert count == 1
    with np.errstate(all="ignore"):
        for found, scale in zip(exe(X), scales, strict=True):
            np.testing.assert_allclose(found, np.exp(X * np.float32(scale)), rtol=1e-5)
