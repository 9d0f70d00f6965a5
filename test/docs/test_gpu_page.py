"""docs/gpu.md: its kernels compute what numpy does, and its schedule gives the kernel that the page tells of."""
from pathlib import Path

import numpy as np
from emulate import emulated, inputs
from test_tir_page import lines_of_code

import legato
from legato.core.ir_helpers import find
from legato.frontends.script.language.source import remember_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gpu.md"


def names_of_page():
    source = "".join(line if inside else "\n" for line, inside in lines_of_code(PAGE.read_text()))
    remember_text(str(PAGE), source)
    names = {"__name__": "page"}
    exec(compile(source, str(PAGE), "exec"), names)
    return names


def test_the_page(capsys):
    names = names_of_page()
    assert "gpu.shuffle" in capsys.readouterr().out
    exe = emulated(names["row_sums"], seed=None)
    (a,) = inputs(exe, n=3)
    np.testing.assert_allclose(exe(a), a.sum(-1), rtol=1e-5)
    text = str(names["kernels"])
    assert len(find(names["kernels"].operation, "gpu.barrier")) == 2 and text.count("vector.load") == text.count("vector.store") == 3
    assert text.count("alignment = 16 : i64}") >= 6 and "memref<64x16xf32, #gpu.address_space<workgroup>>" in text
    random = np.random.default_rng(0)
    x, y = (random.random((512, 512), dtype=np.float32) for _ in range(2))
    np.testing.assert_allclose(legato.compile(names["sch"].mod)(x, y), x @ y, rtol=1e-4)
