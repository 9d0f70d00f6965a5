"""Saved models: they load in a process without a compiler, and say what is wrong where they do not."""
import os
import re
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
from legato.runtime import linker, load, package, threads
from legato.runtime.code_file import Signature
from legato.runtime.seal import seal

WEIGHT = numbers(4, 8)
X = np.ones((4, 8), np.float32)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return build(STATIC, {"w": WEIGHT}).save(tmp_path_factory.mktemp("saved") / "model.legato")


@pytest.fixture
def copy(saved, tmp_path):
    """A copy of the saved model that a test may spoil."""
    for file in package.saved_files(saved):
        shutil.copy(file, tmp_path)
    return tmp_path / saved.name


def weights_of(model):
    """The file of a saved model's weights."""
    return package.saved_files(model)[1]


def reseal(model, data):
    """Writes other code with a digest that fits it."""
    model.write_bytes(data[:-80])
    seal(model)


def refused(path, **options):
    with pytest.raises(LegatoError) as caught:
        load(path, **options)
    return str(caught.value)


def test_it_shows_what_callers_use(saved):
    """The symbols of docs/c.md, and not those of the functions that all models share."""
    if shutil.which("nm") is None:
        pytest.skip("nm is missing")
    listed = subprocess.run(["nm", "-D", "--defined-only", saved], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == [
        "__tvm_ffi_create", "legato_metadata", "legato_weights_digest"]


def test_round_trip(saved):
    names = sorted(p.name for p in saved.parent.iterdir())
    assert names[0] == "model.legato" and re.fullmatch(r"model\.legato\.[0-9a-f]{16}\.weights", names[1]) and len(names) == 2
    exe = load(saved)
    np.testing.assert_array_equal(exe(X), WEIGHT + 2)
    assert repr(exe) == "<legato.Executable main(x: float32[4, 8]) -> (y: float32[4, 8])>"
    assert legato.load is load


def test_a_model_without_weights_is_one_file(tmp_path):
    path = build(SYMBOLIC).save(tmp_path / "deep" / "er" / "model.legato")
    assert [p.name for p in path.parent.iterdir()] == ["model.legato"]
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


def test_as_any_host_of_tvm_ffi_loads_it(saved, tmp_path):
    """By create(owner, addresses of weights), with the module as owner; load_module takes names that end in .so."""
    load_module = tvm_ffi.get_global_func("ffi.Module.load_from_file.so")
    module = load_module(str(saved), "so")
    weight = WEIGHT.copy()
    function = module["create"](module, weight.ctypes.data)
    del module
    np.testing.assert_array_equal(np.from_dlpack(function(X)), WEIGHT + 2)
    module = tvm_ffi.load_module(shutil.copy(saved, tmp_path / "renamed.so"))
    for arguments in ((), (None,), (None, "w"), (None, 1, 2)):
        with pytest.raises(TypeError, match="create takes an owner of code and weights"):
            module["create"](*arguments)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_a_host_in_c(tmp_path):
    """No Python: a bare DLTensor* goes in, a tensor comes out that outlives the model, and errors say what they say in Python."""
    model = build(identity("4x", "f32", "4xf32")).save(tmp_path / "model.legato")
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
    path = exe.save(tmp_path / "again.legato")
    loaded = load(path)
    build(STATIC, {"w": WEIGHT * 10}).save(path)
    np.testing.assert_array_equal(loaded(X), WEIGHT + 2)
    np.testing.assert_array_equal(load(path)(X), WEIGHT * 10 + 2)
    assert exe.save(saved) == saved and load(saved)(X).shape == (4, 8)


def test_weights_elsewhere(copy, tmp_path):
    moved, file = tmp_path / "moved", weights_of(copy)
    os.rename(file, moved)
    message = refused(copy)
    assert f"there is no file {file}" in message and "legato.load(model, weights=...)" in message
    np.testing.assert_array_equal(load(copy, weights=moved)(X), WEIGHT + 2)


def test_weights_cut_off(copy):
    file = weights_of(copy)
    os.truncate(file, 100)
    assert f"the weights {file} are cut off: the file has 100 bytes of 192" in refused(copy)
    os.truncate(file, 0)
    assert "cut off" in refused(copy)


def test_weights_changed(copy):
    """With verify=True one bit anywhere is noticed; without, what the head and the size can tell."""
    file = weights_of(copy)
    good = file.read_bytes()
    for at in (64, 100, 191):
        file.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
        assert "were changed after they were saved: their contents do not fit their digest" in refused(copy, verify=True)
        load(copy)
    file.write_bytes(good[:20] + b"?" + good[21:])
    assert "the head of the file is damaged" in refused(copy)
    file.write_bytes(good + b"more")
    assert "has 196 bytes instead of 192" in refused(copy)
    file.write_bytes(b"x" * len(good))
    assert "is not a file of weights of a saved model" in refused(copy)


def test_weights_of_another_model(copy, tmp_path):
    other = build(STATIC, {"w": WEIGHT + 1}).save(tmp_path / "other.legato")
    shutil.copy(weights_of(other), weights_of(copy))
    assert "are those of another model, or of another compile" in refused(copy)


def test_not_a_saved_model(tmp_path, saved):
    assert "there is no saved model" in refused(tmp_path / "nothing.legato")
    half = saved.read_bytes()[:3000]
    for content, words in ((b"", "the file is empty"), (b"text" * 100, "not a shared object"), (half, "it is cut off")):
        path = tmp_path / "bad.legato"
        path.write_bytes(content)
        assert f"{path} is not a saved model: " in refused(path) and words in refused(path)
    assert "a shared object that was not made by Legato" in refused(tvm_ffi.libinfo.find_libtvm_ffi())


def test_a_newer_legato(copy):
    reseal(copy, copy.read_bytes().replace(b'{"format":2,', b'{"format":9,'))
    assert "which is newer than this one: its metadata has format 9, and this version reads up to 4" in refused(copy)


def test_an_older_legato(copy):
    copy.write_bytes(copy.read_bytes().replace(b'{"format":2,', b'{"format":1,')[:-80])
    assert "is not a saved model: an older Legato saved it, without a digest of its code. Save it again" in refused(copy)


def test_another_machine(copy):
    data = bytearray(copy.read_bytes())
    data[18:20] = (243).to_bytes(2, "little")
    reseal(copy, bytes(data))
    assert "was compiled for the machine number 243, and this is" in refused(copy)


def pretend(monkeypatch, is_, shall_be):
    """Models say something else of themselves."""
    parse = Signature.parse
    monkeypatch.setattr(Signature, "parse", staticmethod(lambda text, where: parse(text.replace(is_, shall_be), where)))


def test_another_cpu(saved, monkeypatch):
    here, features = cpu.host_name(), load(saved).signature.features
    pretend(monkeypatch, f'"cpu":"{here}","features":"{features}"', '"cpu":"x86-64-v3","features":"+avx512fp16"')
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
        exe.save(tmp_path / "a.legato", linker="nolinker")
    with pytest.raises(LegatoError, match=r"(?s)linking failed: false -shared .*"):
        exe.save(tmp_path / "a.legato", linker="false")
    assert list(tmp_path.iterdir()) == []
    if shutil.which("ld"):
        np.testing.assert_array_equal(load(exe.save(tmp_path / "ld.legato", linker="ld"))(numbers(4)), numbers(4))
    monkeypatch.setattr(linker.shutil, "which", lambda program: None)
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LegatoError, match="a saved model needs a linker, and none of cc, gcc, clang"):
        exe.save(tmp_path / "a.legato")
