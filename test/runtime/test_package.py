"""Saved models: they load in a process without a compiler, and say what is wrong where they do not."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tvm_ffi
from models import STATIC, SYMBOLIC, build, identity, numbers

import legato
from legato.core import cpu
from legato.core.errors import LegatoError
from legato.runtime import linker, load, package, threads, weights_file
from legato.targets.cpu.machine import Machine

WEIGHT = numbers(4, 8)
X = np.ones((4, 8), np.float32)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return build(STATIC, {"w": WEIGHT}).save(tmp_path_factory.mktemp("saved") / "model.so")


@pytest.fixture
def copy(saved, tmp_path):
    """A copy of the saved model that a test may spoil."""
    for file in (saved, package.weights_path(saved)):
        shutil.copy(file, tmp_path)
    return tmp_path / saved.name


def refused(path, **options):
    with pytest.raises(LegatoError) as caught:
        load(path, **options)
    return str(caught.value)


def test_round_trip(saved):
    assert sorted(p.name for p in saved.parent.iterdir()) == ["model.so", "model.so.weights"]
    exe = load(saved)
    np.testing.assert_array_equal(exe(X), WEIGHT + 2)
    assert repr(exe) == "<legato.Executable main(x: float32[4, 8]) -> (y: float32[4, 8])>"
    assert legato.load is load


def test_a_model_without_weights_is_one_file(tmp_path):
    path = build(SYMBOLIC).save(tmp_path / "deep" / "er" / "model.so")
    assert [p.name for p in path.parent.iterdir()] == ["model.so"]
    assert (load(path)(X, X)[0] == 8).all()


def test_in_a_process_without_a_compiler(saved):
    """A result outlives the model and its library."""
    program = f"""
import sys, numpy as np, legato
y = legato.load({str(saved)!r})(np.ones((4, 8), np.float32))
print(y.sum(), [m for m in sys.modules if m.split('.')[0] in ('torch_mlir', 'mlir', 'onnx', 'torch') or m.startswith('legato.core.mlir')])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("560.0 []\n", "")


def test_as_any_host_of_tvm_ffi_loads_it(saved):
    """By load_module and create(owner, addresses of weights), with the module as owner."""
    module = tvm_ffi.load_module(str(saved))
    weight = WEIGHT.copy()
    function = module["create"](module, weight.ctypes.data)
    del module
    np.testing.assert_array_equal(np.from_dlpack(function(X)), WEIGHT + 2)
    module = tvm_ffi.load_module(str(saved))
    for arguments in ((), (None,), (None, "w"), (None, 1, 2)):
        with pytest.raises(TypeError, match="create takes an owner of code and weights"):
            module["create"](*arguments)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_a_host_in_c(tmp_path):
    """No Python: a bare DLTensor* goes in, a tensor comes out that outlives the model, and errors say what they say in Python."""
    model = build(identity("4x", "f32", "4xf32")).save(tmp_path / "model.so")
    info, host = tvm_ffi.libinfo, tmp_path / "host"
    folder = Path(info.find_libtvm_ffi()).parent
    headers = [f"-I{info.find_include_path()}", f"-I{info.find_dlpack_include_path()}"]
    libraries = [f"-L{folder}", "-ltvm_ffi", f"-Wl,-rpath,{folder}", "-ldl"]
    source = Path(__file__).parent / "inputs" / "host.c"
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", *headers, "-o", host, source, *libraries], check=True)
    done = subprocess.run([host, model], capture_output=True, text=True)
    assert done.stdout == ("1 2 3 4 | ValueError: main: argument 0 'x' must be float32[4], but float32[3] was given: "
                           "dimension 0 is 3, not 4\n"), done


def test_several_instances_of_one_file(saved):
    one, two = load(saved), load(saved)
    np.testing.assert_array_equal(one(X), two(X))
    del one
    np.testing.assert_array_equal(two(X), WEIGHT + 2)


def test_saving_again(saved, tmp_path):
    """A loaded model can be saved elsewhere; the file of a loaded model can be replaced under it."""
    exe = load(saved)
    path = exe.save(tmp_path / "again.so")
    loaded = load(path)
    build(STATIC, {"w": WEIGHT * 10}).save(path)
    np.testing.assert_array_equal(loaded(X), WEIGHT + 2)
    np.testing.assert_array_equal(load(path)(X), WEIGHT * 10 + 2)
    assert exe.save(saved) == saved and load(saved)(X).shape == (4, 8)


def test_weights_elsewhere(copy, tmp_path):
    moved = tmp_path / "moved"
    os.rename(package.weights_path(copy), moved)
    message = refused(copy)
    assert f"there is no file {copy}.weights" in message and "legato.load(model, weights=...)" in message
    np.testing.assert_array_equal(load(copy, weights=moved)(X), WEIGHT + 2)


def test_weights_cut_off(copy):
    file = package.weights_path(copy)
    os.truncate(file, 100)
    assert f"the weights {file} are cut off: the file has 100 bytes of 192" in refused(copy)
    os.truncate(file, 0)
    assert "cut off" in refused(copy)


def test_weights_changed(copy):
    """One bit anywhere is noticed; with verify=False only what the head can tell."""
    file = package.weights_path(copy)
    good = file.read_bytes()
    for at in (64, 100, 191):
        file.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
        assert "were changed after they were saved: their contents do not fit their digest" in refused(copy)
        load(copy, verify=False)
    file.write_bytes(good[:20] + b"?" + good[21:])
    assert "the head of the file is damaged" in refused(copy, verify=False)
    file.write_bytes(good + b"more")
    assert "has 196 bytes instead of 192" in refused(copy)
    file.write_bytes(b"x" * len(good))
    assert "is not a file of weights of a saved model" in refused(copy)


def test_weights_of_another_model(copy, tmp_path):
    other = build(STATIC, {"w": WEIGHT + 1}).save(tmp_path / "other.so")
    shutil.copy(package.weights_path(other), package.weights_path(copy))
    assert "are those of another model, or of another compile" in refused(copy, verify=False)


def test_the_digest_sees_every_word():
    """Sums over rows and columns: a changed word, two that changed places, and bytes behind the last whole word."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, 8 * (4096 * 300 + 5) + 3, np.uint8)
    parameter = package.Signature.parse(json.dumps({
        "format": 1, "legato": "", "inputs": [], "outputs": [], "symbols": [], "target": {"cpu": "", "features": ""}, "openmp": False,
        "weights": [{"name": "w", "dtype": "uint8", "shape": [data.size]}]})).weights

    def digest(array):
        found = hashlib.blake2b(digest_size=16)
        weights_file._add(found, parameter[0], array)
        return found.digest()

    seen = {digest(data)}
    for at in (0, 8 * 4096 * 299, data.size - 20, data.size - 1):
        data[at] ^= 1
        seen.add(digest(data))
    words = data[:-3].view(np.uint64)
    for i, j in ((0, 1), (3, 4096 + 3), (4096 * 256, 4096 * 257 + 1)):
        words[[i, j]] = words[[j, i]]
        seen.add(digest(data))
    assert len(seen) == 8


def test_not_a_saved_model(tmp_path, saved):
    assert "there is no saved model" in refused(tmp_path / "nothing.so")
    half = saved.read_bytes()[:3000]
    for content, words in ((b"", "the file is empty"), (b"text" * 100, "not a shared object"), (half, "it is cut off")):
        path = tmp_path / "bad.so"
        path.write_bytes(content)
        assert f"{path} is not a saved model: " in refused(path) and words in refused(path)
    assert "a shared object that was not made by Legato" in refused(tvm_ffi.libinfo.find_libtvm_ffi())


def test_a_newer_legato(copy):
    data = copy.read_bytes()
    copy.write_bytes(data.replace(b'{"format":1,', b'{"format":9,'))
    assert "which is newer than this one: its metadata has format 9, and this version reads up to 1" in refused(copy)


def test_another_machine(copy):
    data = bytearray(copy.read_bytes())
    data[18:20] = (243).to_bytes(2, "little")
    copy.write_bytes(data)
    assert "was compiled for the machine number 243, and this is" in refused(copy)


def pretend(monkeypatch, is_, shall_be):
    """Models say something else of themselves."""
    parse = package.Signature.parse
    monkeypatch.setattr(package.Signature, "parse", staticmethod(lambda text, where: parse(text.replace(is_, shall_be), where)))


def test_another_cpu(saved, monkeypatch):
    here = cpu.host_name()
    pretend(monkeypatch, f'"cpu":"{here}","features":"{Machine.host().features}"', '"cpu":"x86-64-v3","features":"+avx512fp16"')
    monkeypatch.setattr(cpu, "host_features", lambda: cpu.features_of("x86-64-v2"))
    message = refused(saved)
    assert "was compiled for the CPU x86-64-v3; this one (" in message
    assert "does not have avx, avx2, avx512fp16, bmi, bmi2, f16c, fma, lzcnt, movbe. Compile the model" in message


def test_no_openmp(saved, monkeypatch):
    pretend(monkeypatch, '"openmp":false', '"openmp":true')
    monkeypatch.setattr(threads, "openmp_runtime", lambda: None)
    assert "runs on several threads and needs an OpenMP runtime, which was not found: install" in refused(saved)


def test_linkers(tmp_path, monkeypatch):
    exe = build(identity("4x", "f32", "4xf32"))
    with pytest.raises(LegatoError, match="there is no program 'nolinker'"):
        exe.save(tmp_path / "a.so", linker="nolinker")
    with pytest.raises(LegatoError, match=r"(?s)linking failed: false -shared .*"):
        exe.save(tmp_path / "a.so", linker="false")
    assert list(tmp_path.iterdir()) == []
    if shutil.which("ld"):
        np.testing.assert_array_equal(load(exe.save(tmp_path / "ld.so", linker="ld"))(numbers(4)), numbers(4))
    monkeypatch.setattr(linker.shutil, "which", lambda program: None)
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LegatoError, match="a saved model needs a linker, and none of cc, gcc, clang"):
        exe.save(tmp_path / "a.so")
