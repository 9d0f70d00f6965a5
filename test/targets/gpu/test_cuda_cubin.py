"""Machine code beside PTX: made by ptxas, here one of the test's own, and tried first by the driver, here the stand-in."""
import logging
import shutil
import struct

import pytest
from standin import TARGET, driver, prepared
from test_cuda import MODEL, calls, check, instance, operands

import legato
from legato.codegen.cubin import cubin, find_ptxas

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
    assert cubin("", "sm_80") is None


@pytest.mark.skipif(find_ptxas() is None, reason="NVIDIA's ptxas is missing")
def test_nvidias_assembler():
    found = find_ptxas()
    assert found is not None and shutil.which(found)
    made = cubin(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }\n", "sm_80")
    assert made is not None and made.startswith(b"\x7fELF") and b"f" in made
