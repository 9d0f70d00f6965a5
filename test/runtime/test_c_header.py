"""``legato.h``: several weights, several results, an error in each thing that can be wrong; memory is checked by AddressSanitizer."""
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import legato
from legato import relax as R
from legato.tools.legato_config import compile_flags, link_flags, main

HOST = Path(__file__).parent / "inputs" / "with_header.c"
SMALL = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
WIDE = np.random.default_rng(0).standard_normal((4, 301), np.float32)    # more than is kept in the code
ROWS = np.array([2, 0, 1, 2] * 300, np.int64)

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")


@R.function
def main_of_model(x: R.Tensor(("n", 4), "float32")):
    wide = R.matmul(x, R.const(WIDE))
    return wide, R.take(wide, R.const(ROWS), axis=1)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """The host, compiled."""
    path = tmp_path_factory.mktemp("host") / "host"
    strict = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    subprocess.run(["cc", *strict, *compile_flags(), HOST, "-o", path, *link_flags()], check=True)
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model with several weights of different types, and two results."""
    folder = tmp_path_factory.mktemp("model")
    executable = legato.compile(main_of_model)
    executable.save(folder / "model.legato")
    return folder / "model.legato"


@pytest.fixture
def copy(saved, tmp_path):
    """A copy of the model that a test may damage."""
    for file in saved.parent.iterdir():
        shutil.copy(file, tmp_path / file.name)
    return tmp_path / saved.name


def run(host, *arguments):
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:exitcode=99"}
    return subprocess.run([host, *map(str, arguments)], capture_output=True, text=True, env=environment, check=False)


def weights_of(model):
    (found,) = model.parent.glob("*.weights")
    return found


def test_it_computes_what_python_does(host, saved):
    done = run(host, saved, 4)
    x = np.arange(12, dtype=np.float32).reshape(3, 4) - 3
    wide, taken = legato.load(saved)(x)
    expected = [np.asarray(a, np.float64).sum() for a in (wide, taken)]
    assert (done.returncode, done.stderr) == (0, "")
    found = [line.split() for line in done.stdout.splitlines()]
    assert [line[:3] for line in found] == [["float32", "3", "301"], ["float32", "3", "1200"]]
    np.testing.assert_allclose([float(line[3]) for line in found], expected, rtol=1e-6)


def test_a_wrong_size(host, saved):
    done = run(host, saved, 3)
    assert done.returncode == 2
    assert done.stderr == "ValueError: main: argument 0 'x' must be float32[n, 4], but float32[3, 3] was given: dimension 1 is 3, not 4\n"


def test_what_is_no_model(host, tmp_path, saved):
    done = run(host, tmp_path / "nothing.legato", 4)
    assert done.returncode == 1 and "nothing.legato" in done.stderr
    libraries = [flag.removeprefix("-L") for flag in link_flags() if flag.startswith("-L")]
    other = Path(libraries[0], "libtvm_ffi.so")
    assert run(host, other, 4).stderr == f"{other} was not made by Legato\n"


def test_weights_that_are_missing_cut_off_or_others(host, copy):
    file = weights_of(copy)
    data = file.read_bytes()
    file.unlink()
    assert run(host, copy, 4).stderr == f"cannot read the weights {file}\n"
    file.write_bytes(data[:-64])
    assert run(host, copy, 4).stderr == f"the weights {file} have {len(data) - 64} bytes instead of {len(data)}\n"
    file.write_bytes(data[:30] + bytes([data[30] ^ 1]) + data[31:])
    assert run(host, copy, 4).stderr == f"the weights {file} are not those of {copy}\n"


@R.function
def with_packed(x: R.Tensor(("n", 4), "float32")):
    return R.call_dps_packed("acme.no_such_function", (x,), R.Tensor(("n", 4), "float32"))


def test_a_packed_function_that_is_missing(host, tmp_path):
    import tvm_ffi

    tvm_ffi.register_global_func("acme.no_such_function", lambda *_: None, override=True)
    legato.compile(with_packed).save(tmp_path / "packed.legato")
    done = run(host, tmp_path / "packed.legato", 4)
    assert done.returncode == 1
    assert done.stderr.endswith("calls the packed function acme.no_such_function, which is not registered in this process\n")


def test_the_flags_of_the_tool(capsys):
    assert main(["--cflags", "--ldflags"]) == 0
    assert capsys.readouterr().out.split() == [*compile_flags(), *link_flags()]
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
