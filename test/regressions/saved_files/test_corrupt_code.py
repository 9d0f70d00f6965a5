"""Damaged saved models: an error of the load, never a signal, and nothing of the file runs."""
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import tvm_ffi
from models import STATIC, build, numbers

from legato.core.errors import LegatoError
from legato.runtime import load
from legato.runtime.elf import ElfFile
from legato.runtime.package import saved_files

X, WEIGHT = np.ones((4, 8), np.float32), numbers(4, 8)
LOADS_EACH = """
import os, sys, pathlib
from legato.runtime import load
from legato.core.errors import LegatoError
folder, model = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[1]) / "model.legato"
for case in sorted(folder.glob("case*")):
    os.replace(case, model)
    try:
        load(model)
        print(case.name, "loaded")
    except LegatoError as error:
        assert str(model) in str(error), error
print("end")
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return build(STATIC, {"w": WEIGHT}).save(tmp_path_factory.mktemp("saved") / "model.legato")


def outcome(saved, contents):
    """What a process says that loads the model's code with each of these contents, one after the other."""
    for number, content in enumerate(contents):
        (saved.parent / f"case{number:04}").write_bytes(content)
    good = saved.read_bytes()
    try:
        done = subprocess.run([sys.executable, "-c", LOADS_EACH, str(saved.parent)], capture_output=True, text=True, timeout=300)
    finally:
        saved.write_bytes(good)
    return done.returncode, done.stdout, done.stderr


def test_any_changed_byte_is_an_error(saved):
    good, choose = saved.read_bytes(), random.Random(0)
    places = choose.sample(range(len(good)), 300) + list(range(80)) + list(range(len(good) - 80, len(good)))
    changed = [good[:at] + bytes([good[at] ^ choose.randrange(1, 256)]) + good[at + 1:] for at in places]
    assert outcome(saved, changed) == (0, "end\n", "")


def test_words_that_changed_places_are_an_error(saved):
    """Sums over rows and columns of words miss four that are changed by the same amounts."""
    good, cases = saved.read_bytes(), []
    for at in range(0x1000, 0x1800, 0x100):
        words = np.frombuffer(good, np.uint8)[: len(good) // 8 * 8].view(np.uint64).copy()
        i, j = at // 8, at // 8 + 4
        words[[i, j]] = words[[j, i]]
        if words.tobytes() != good[: words.nbytes]:
            cases.append(words.tobytes() + good[words.nbytes:])
    assert len(cases) > 3 and outcome(saved, cases) == (0, "end\n", "")


def test_cut_off_at_every_boundary_is_an_error(saved):
    good, shared = saved.read_bytes(), ElfFile(saved.read_bytes())
    ends = {0, 1, 4, 64, len(good) - 80, len(good) - 64, len(good) - 1}
    for _, _, offset, _, _, size, _, _ in shared._programs:
        ends |= {offset, offset + size}
    sections = int.from_bytes(good[40:48], "little"), int.from_bytes(good[58:60], "little"), int.from_bytes(good[60:62], "little")
    for i in range(sections[2]):
        at = sections[0] + i * sections[1]
        offset, size = int.from_bytes(good[at + 24:at + 32], "little"), int.from_bytes(good[at + 32:at + 40], "little")
        ends |= {at, offset, offset + size}
    cuts = [good[:end] for end in sorted(ends) if end < len(good)]
    assert len(cuts) > 40
    assert outcome(saved, [*cuts, good + b"\0", good + good]) == (0, "end\n", "")


def test_offsets_beyond_any_file_are_errors(saved):
    """The headers say where the others lie; those of a file without its seal are read."""
    good = saved.read_bytes()[:-1]
    sections = int.from_bytes(good[40:48], "little")
    cases = [good[:at] + value.to_bytes(8, "little") + good[at + 8:] for at in (32, 40, *range(sections + 24, sections + 400, 64))
             for value in (2**63, 2**64 - 1, 2**63 - 1, len(good) - 10)]
    assert outcome(saved, cases) == (0, "end\n", "")
    assert outcome(saved, [good[:62] + (65535).to_bytes(2, "little") + good[64:]]) == (0, "end\n", "")


def test_other_files_are_errors(saved, tmp_path):
    wrong = [b"", b"\x7fELF", b"\0" * 5000, b"PK\x03\x04" + bytes(500), random.Random(1).randbytes(30000),
             saved_files(saved)[1].read_bytes(), open(tvm_ffi.libinfo.find_libtvm_ffi(), "rb").read()]
    assert outcome(saved, wrong) == (0, "end\n", "")
    for path, words in ((tmp_path, "is a folder"), (tmp_path / "none.legato", "there is no saved model"), ("/dev/null", "no saved model")):
        with pytest.raises(LegatoError, match=words):
            load(path)


def test_the_intact_file_loads_after_all_that(saved):
    np.testing.assert_array_equal(load(saved)(X), WEIGHT + 2)


def test_weights_cut_off_or_longer_are_errors(saved):
    file = saved_files(saved)[1]
    good = file.read_bytes()
    try:
        for content in (good[:-1], good + b"\0", good[:64], good[:10], b""):
            file.write_bytes(content)
            with pytest.raises(LegatoError, match="the weights"):
                load(saved)
        words = np.frombuffer(good, np.uint64).copy()
        words[8:12] += np.array([1, -1, -1, 1], np.int64).view(np.uint64)      # sums over rows and columns stay
        file.write_bytes(words.tobytes())
        load(saved)
        with pytest.raises(LegatoError, match="do not fit their digest"):
            load(saved, verify=True)
    finally:
        file.write_bytes(good)


def test_the_digest_is_what_sha256sum_says(saved):
    """A host without Python can compare it so."""
    said = subprocess.run(f"head -c -64 '{saved}' | sha256sum; tail -c 64 '{saved}'", shell=True, capture_output=True, text=True).stdout
    code, stored = said.split("  -\n")
    assert code == stored
    weights = saved_files(saved)[1]
    said = subprocess.run(f"tail -c +65 '{weights}' | sha256sum", shell=True, capture_output=True, text=True).stdout
    assert said[:16] == weights.name.split(".")[-2] and os.path.getsize(weights) == 192
