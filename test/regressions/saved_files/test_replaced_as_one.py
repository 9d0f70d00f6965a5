"""A saved model is replaced as one: by savers at the same time, by savers that are killed, under readers. What they leave is removed."""
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from models import STATIC, SYMBOLIC, build, numbers

from legato.core.errors import LegatoError
from legato.runtime import load
from legato.runtime.package import saved_files

X, WEIGHT = np.ones((4, 8), np.float32), numbers(4, 8)
SAVES_AGAIN = """
import sys, pathlib
from legato.runtime import load
models = [load(file) for file in sys.argv[2:]]
print("ready", flush=True)
while True:
    for model in models:
        model.save(pathlib.Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def factors(tmp_path_factory):
    """Saved models by the factor of their weights. Their code differs only in the digest of the weights."""
    folder = tmp_path_factory.mktemp("sources")
    return {factor: build(STATIC, {"w": WEIGHT * factor}).save(folder / f"{factor}.legato") for factor in (1, 10, 100)}


def saver(path, sources):
    started = subprocess.Popen([sys.executable, "-c", SAVES_AGAIN, str(path), *map(str, sources)], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None and started.stdout.readline() == "ready\n"
    return started


def is_whole(path):
    """The model at the path computes what one of the savers saved."""
    difference = load(path, verify=True)(X) - 2
    return any((difference == WEIGHT * factor).all() for factor in (1, 10, 100))


def only(path):
    """There is nothing beside the model but its own files."""
    return sorted(path.parent.iterdir()) == sorted(saved_files(path))


def test_two_savers_and_a_reader(factors, tmp_path):
    path = load(factors[1]).save(tmp_path / "model.legato")
    savers = [saver(path, (factors[1], factors[10])), saver(path, (factors[100],))]
    try:
        begin, seen = time.monotonic(), set()
        while time.monotonic() < begin + (3 if len(seen) > 1 else 60):
            seen.add(float(load(path, verify=True)(X)[0, 1]))
    finally:
        for one in savers:
            one.kill()
            one.wait()
    assert seen <= {float(WEIGHT[0, 1] * factor + 2) for factor in (1, 10, 100)} and len(seen) > 1
    load(factors[10]).save(path)
    assert is_whole(path) and only(path)


def test_a_kill_at_any_moment(factors, tmp_path):
    """Each time a saver is killed, the model loads; the next save removes what it left."""
    path, moments = load(factors[1]).save(tmp_path / "model.legato"), random.Random(0)
    for _ in range(12):
        one = saver(path, (factors[1], factors[10], factors[100]))
        time.sleep(moments.uniform(0, 0.02))
        one.send_signal(signal.SIGKILL)
        one.wait()
        assert is_whole(path)
    load(factors[10]).save(path)
    assert is_whole(path) and only(path)


def test_a_kill_before_each_step(factors, tmp_path):
    """The moments that chance may miss: a saver dies before each of its renames, and before each file that it removes."""
    path = load(factors[1]).save(tmp_path / "model.legato")
    script = """
import os, signal, sys, pathlib
from legato.runtime import load
model, steps = load(sys.argv[2]), int(sys.argv[3])
def counted(call):
    def step(*arguments, **options):
        global steps
        if steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        steps -= 1
        return call(*arguments, **options)
    return step
os.replace, os.mkdir, os.unlink, os.rmdir = map(counted, (os.replace, os.mkdir, os.unlink, os.rmdir))
pathlib.Path.unlink = counted(pathlib.Path.unlink)
model.save(pathlib.Path(sys.argv[1]))
"""
    codes, left = [], 0
    for steps in range(12):
        source = factors[(10, 100)[steps % 2]]
        done = subprocess.run([sys.executable, "-c", script, str(path), str(source), str(steps)])
        codes.append(done.returncode)
        left += not only(path)
        assert is_whole(path), steps
        if done.returncode == 0:
            break
    assert codes[-1] == 0 and len(codes) > 4 and set(codes[:-1]) == {-signal.SIGKILL} and left > 1
    assert only(path)


def test_a_model_that_was_replaced_loads_as_the_new_one(tmp_path):
    """glibc's dlopen returns the library that it loaded under a name before, whatever the file holds now."""
    path = build(STATIC, {"w": WEIGHT}).save(tmp_path / "model.legato")
    first = load(path)
    build(SYMBOLIC).save(path)
    second = load(path)
    np.testing.assert_array_equal(first(X), WEIGHT + 2)
    assert (second(X, X)[0] == 8).all() and only(path)


def test_saving_a_loaded_model_saves_what_was_loaded(factors, tmp_path):
    path = load(factors[1]).save(tmp_path / "model.legato")
    loaded = load(path)
    np.testing.assert_array_equal(load(loaded.save(tmp_path / "copy.legato"))(X), WEIGHT + 2)
    assert loaded.save(path) == path and is_whole(path)
    load(factors[10]).save(path)
    with pytest.raises(LegatoError, match=r"other.legato: .*model.legato, which it was loaded from, was replaced"):
        loaded.save(tmp_path / "other.legato")
    assert not (tmp_path / "other.legato").exists()


def test_files_of_other_models_and_of_users_stay(factors, tmp_path):
    kept = [tmp_path / name for name in ("other.legato.0123456789abcdef.weights", "model.legato.weights", "model.legato.0123.weights",
                                         "model.legato2.0123456789abcdef.weights", ".legato-cache")]
    for file in kept:
        file.write_bytes(b"kept")
    path = load(factors[1]).save(tmp_path / "model.legato")
    load(factors[10]).save(path)
    assert sorted(tmp_path.iterdir()) == sorted([*kept, *saved_files(path)])


@pytest.mark.parametrize("name", ["name", "model.v1", "модель.legato", "a b.legato", "x.so.legato", ".hidden", "model.dll"])
def test_any_name_loads(factors, tmp_path, name):
    np.testing.assert_array_equal(load(load(factors[1]).save(tmp_path / name))(X), WEIGHT + 2)


def test_import_finds_the_python_file_and_so_is_warned_of(factors, tmp_path, recwarn):
    model = load(factors[1])
    model.save(tmp_path / "copy.legato")
    assert len(recwarn) == 0
    done = subprocess.run([sys.executable, "-c", "import copy; print(copy.deepcopy([1]))"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[1]\n", done.stderr
    with pytest.warns(UserWarning, match=r"copy.so: Python's import takes a .so .* the suffix for models is .legato"):
        np.testing.assert_array_equal(load(model.save(tmp_path / "copy.so"))(X), WEIGHT + 2)


def test_a_relative_path_and_another_folder(factors, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load(factors[1]).save("name")
    assert Path("name").is_file() and is_whole("name")
    os.mkdir("moved")
    for file in saved_files("name"):
        os.rename(file, Path("moved") / file.name)
    assert is_whole("moved/name")
