"""Machine code beside PTX: made by ptxas, here one of the test's own, and tried first by the driver, here the stand-in."""
import logging
import shutil
import struct

import pytest
from standin import TARGET, driver, prepared
from test_cuda import MODEL, calls, check, instance, operands

import legato
from legato.codegen.cubin import alone, assembled, find_ptxas, spilled

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("nothing_is_left")

BOTH = TARGET.replace("}", " cubin=true}")
LOAD = "cuModuleLoadDataEx"
NO_BINARY_FOR_GPU = 209
HEADER = b"\x7fELF\2\1\1" + bytes(33) + struct.pack("<Q", 80) + bytes(16)     # sections from byte 80 on


def assembler(folder, monkeypatch, script):
    """A ptxas of the test's own, first in the path."""
    made = folder / "ptxas"
    made.write_text(f"#!/bin/sh\n{script}\n")
    made.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.fixture
def lowered(tmp_path, monkeypatch):
    (tmp_path / "head").write_bytes(HEADER)
    assembler(tmp_path, monkeypatch, f'cat {tmp_path}/head > "$4" && echo "machine code $1" >> "$4"')
    return prepared(legato.Module.parse(MODEL), BOTH)


def loads(make):
    """How often the driver is given code for a new instance, which works."""
    (x, w), before = operands(5), calls(LOAD)
    check(make()(x, w), x, w)
    return calls(LOAD) - before


def test_machine_code_first(lowered, tmp_path):
    """The driver is given the cubin, and PTX where it refuses that; so with a saved model."""
    path = instance(lowered).save(tmp_path / "model.legato")
    for make in (lambda: instance(lowered), lambda: legato.load(path)):
        assert loads(make) == 1
        driver().standin_fail(LOAD.encode(), 1, NO_BINARY_FOR_GPU)
        assert loads(make) == 2


def test_without_an_assembler(tmp_path, monkeypatch, caplog):
    """There is PTX only; where the assembler does not take it, a warning says so."""
    assembler(tmp_path, monkeypatch, "echo \"ptxas fatal : Value 'sm_80' is not defined for option 'gpu-name'\" >&2; exit 1")
    with caplog.at_level(logging.WARNING, "legato"):
        lowered = prepared(legato.Module.parse(MODEL), BOTH)
    assert "makes no machine code for sm_80" in caplog.text and "Value 'sm_80' is not defined" in caplog.text
    assert loads(lambda: instance(lowered)) == 1
    monkeypatch.setattr("legato.codegen.cubin.find_ptxas", lambda: None)
    assert assembled("text", "sm_80") == ("text", None)


@pytest.mark.skipif(find_ptxas() is None, reason="NVIDIA's ptxas is missing")
def test_nvidias_assembler():
    found = find_ptxas()
    assert found is not None and shutil.which(found)
    text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }\n"
    same, made = assembled(text, "sm_80")
    assert same == text and made is not None and made.startswith(b"\x7fELF") and b"f" in made


TEXT = """.visible .entry a(
	.param .u64 a_param_0
)
.maxntid 4, 8, 4
{
}
.visible .entry b(
	.param .u64 b_param_0
)
.maxntid 4, 8, 4
{
}
.visible .entry c()
.maxntid 128, 1, 1
.minnctapersm 2
{
}
"""
SAID = """ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for b
    8 bytes stack frame, {0} bytes spill stores, 4 bytes spill loads
"""


def test_spills_by_what_the_assembler_says():
    assert spilled(SAID.format(8)) == {"b": 12}
    changed = alone(TEXT, ["b", "c"])
    assert changed == TEXT.replace("b_param_0\n)\n.maxntid 4, 8, 4\n", "b_param_0\n)\n.maxntid 4, 8, 4\n.minnctapersm 1\n")


@pytest.mark.parametrize("then, kept", [(0, True), (16, False)])
def test_kernels_that_would_spill_ask_for_one_block(tmp_path, monkeypatch, then, kept):
    """The assembler keeps registers in memory for more blocks: the second text is taken if it leaves less there."""
    for name, number in (("first", 8), ("second", then)):
        (tmp_path / name).write_text(SAID.format(number))
    assembler(tmp_path, monkeypatch, f'if grep -q "minnctapersm 1" "$2"; then f=second; else f=first; fi; echo $f > "$4"; '
                                     f'cat {tmp_path}/$f >&2')
    changed = alone(TEXT, ["b"])
    assert assembled(TEXT, "sm_80") == ((changed, b"second\n") if kept else (TEXT, b"first\n"))
