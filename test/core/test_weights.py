"""The weight store, and the safetensors files it reads and writes."""

import json
from pathlib import Path
from threading import Event

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from legato.core.background import begin
from legato.core.errors import LegatoError
from legato.core.safetensors_file import read_header
from legato.core.weights import WeightStore, release_pages

EVERY_DTYPE = [
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
    np.bool_,
    *(f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)),
]


def test_keys_are_unique_and_arrays_are_held():
    store, array = WeightStore(), np.arange(6, dtype=np.float32).reshape(2, 3)
    assert [store.add("w", array), store.add("w", array), store.add("w", array)] == ["w", "w_1", "w_2"]
    assert np.shares_memory(store["w"], array) and not store["w"].flags.writeable and array.flags.writeable
    assert list(store) == ["w", "w_1", "w_2"] and len(store) == 3 and store.nbytes == 72 and "w" in store
    store.drop("w")
    assert "w" not in store and store.get("w") is None and store.add("w", array) == "w"


def test_unknown_keys_and_element_types_are_errors():
    store = WeightStore()
    with pytest.raises(LegatoError, match=r"no weight 'w' in the store, which has 0 weights"):
        store["w"]
    with pytest.raises(LegatoError, match=r"no weight 'w'"):
        store.drop("w")
    with pytest.raises(LegatoError, match=r"weight 'w' has the element type complex64"):
        store.add("w", np.zeros(2, np.complex64))


def test_save_and_load_every_element_type(tmp_path):
    store = WeightStore()
    for dtype in map(np.dtype, EVERY_DTYPE):
        store.add(dtype.name, np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype))
    store.add("scalar", np.float32(3.5))
    store.add("empty", np.zeros((0, 4), np.int8))
    store.add("transposed", np.arange(6, dtype=np.int16).reshape(2, 3).T)
    store.save(tmp_path / "w.safetensors")
    loaded = WeightStore.load(tmp_path / "w.safetensors")
    assert set(loaded) == set(store) and loaded.nbytes == store.nbytes
    for key in store:
        assert loaded.type_of(key) == (store[key].dtype, store[key].shape) == (loaded[key].dtype, loaded[key].shape)
        assert loaded[key].tobytes() == store[key].tobytes() and not loaded[key].flags.writeable


def test_the_package_reads_ours_and_we_read_its(tmp_path):
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2], np.uint8)}
    store = WeightStore()
    for key, array in arrays.items():
        store.add(key, array)
    store.save(tmp_path / "ours.safetensors")
    save_file(arrays, tmp_path / "its.safetensors", metadata={"format": "pt"})
    for loaded in (load_file(tmp_path / "ours.safetensors"), WeightStore.load(tmp_path / "its.safetensors")):
        assert {k: v.tolist() for k, v in loaded.items()} == {k: v.tolist() for k, v in arrays.items()}


def test_saving_over_the_file_that_is_mapped(tmp_path):
    path = tmp_path / "w.safetensors"
    store = WeightStore()
    store.add("a", np.arange(1000, dtype=np.float32))
    store.save(path)
    mapped = WeightStore.load(path)
    before = mapped["a"]
    mapped.add("b", np.ones(3, np.float32))
    mapped.save(path)
    assert before.tolist() == list(range(1000)) and set(WeightStore.load(path)) == {"a", "b"}
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_in_any_file(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(b"xxx" + np.array([1.5, 2.5], np.float32).tobytes())
    store = WeightStore()
    assert store.add_file("w", path, 3, "float32", (2,)) == "w" and store.add_file("w", path, 0, np.uint8, (3,)) == "w_1"
    assert store.nbytes == 11 and store["w"].tolist() == [1.5, 2.5] and bytes(store["w_1"]) == b"xxx"
    with pytest.raises(LegatoError, match=r"weight 'x' ends at byte 12 of .*model.bin, which has 11 bytes"):
        store.add_file("x", path, 4, np.float32, (2,))
    with pytest.raises(LegatoError, match=r"weight 'x' lies in .*none.bin, which is not there"):
        store.add_file("x", tmp_path / "none.bin", 0, np.float32, (2,))


def test_a_file_cut_after_it_was_read(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(bytes(8))
    store = WeightStore()
    store.add_file("w", path, 0, np.float32, (2,))
    path.write_bytes(bytes(4))
    with pytest.raises(LegatoError, match=r"weight 'w' ends at byte 8 of .*, which now has 4 bytes"):
        store["w"]


def header(fields):
    text = json.dumps(fields).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is cut short"),
        (b"\xff" * 20, "is not a safetensors file, or is cut short"),
        ((5).to_bytes(8, "little") + b"hello", "its header is not JSON"),
        (header({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}) + bytes(4), "is cut short: tensor 'w' ends at byte"),
        (
            header({"w": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}) + bytes(8),
            r"tensor 'w' of F32\[3\] needs 12 bytes, but has 8",
        ),
        (header({"w": {"dtype": "F7", "shape": [3], "data_offsets": [0, 8]}}) + bytes(8), "cannot read the description of tensor 'w'"),
        (header({"w": 3}), "cannot read the description of tensor 'w'"),
    ],
)
def test_broken_files(tmp_path, content, why):
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)
    with pytest.raises(LegatoError, match=why):
        read_header(path)


def test_copies_share_arrays_only(tmp_path):
    store = WeightStore()
    store.add("a", np.ones(2, np.float32))
    copy = store.copy()
    copy.drop("a")
    assert "a" in store and "a" not in copy


def resident(path) -> int:
    """The bytes of a mapped file that are in this process's memory."""
    sizes, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0]:
            inside = line.endswith(str(path))
        elif inside and line.startswith("Rss:"):
            sizes += int(line.split()[1]) * 1024
    return sizes


def test_a_dropped_weight_of_a_file_leaves_memory(tmp_path):
    path, rng = tmp_path / "weights", np.random.default_rng(0)
    data = rng.standard_normal(3_000_000, np.float32)
    data.tofile(path)
    store = WeightStore()
    for name, at in (("a", 100), ("b", 1_000_100), ("c", 2_000_100)):   # not at pages
        store.add_file(name, path, 4 * at, np.float32, (900_000,))
    arrays = {name: store[name] for name in "abc"}
    for array in arrays.values():
        assert array.sum() is not None
    before = resident(path)
    assert before > 10_000_000
    store.drop("b")
    assert resident(path) < before - 3_500_000   # the kernel may unmap more, which comes back when it is read
    for name, at in (("a", 100), ("b", 1_000_100), ("c", 2_000_100)):   # read again
        np.testing.assert_array_equal(arrays[name], data[at:at + 900_000])


def test_only_pages_of_unchanged_files_are_released(tmp_path):
    path = tmp_path / "data"
    np.zeros(100_000, np.float32).tofile(path)
    own = np.memmap(path, np.float32, mode="c")     # written values are in memory only
    own[:] = 7
    release_pages(own)
    release_pages(own[1000:50_000])
    assert (own == 7).all()
    array = np.full(100_000, 3, np.float32)
    release_pages(array)
    assert (array == 3).all()


def test_who_reads_a_weight_waits_for_its_elements():
    store, array, gate = WeightStore(), np.zeros(3, np.float32), Event()

    def fill():
        assert gate.wait(20)
        array[:] = 4

    key = store.add("w", array, begin(fill))
    other = store.copy()
    assert store.type_of(key) == (np.dtype(np.float32), (3,)) and store.nbytes == 12
    gate.set()
    assert list(other[key]) == [4, 4, 4]
    assert [list(one) for one in store.values()] == [[4, 4, 4]]


def test_a_weight_that_could_not_be_filled_says_why():
    def fail():
        raise MemoryError("no room")

    store = WeightStore()
    key = store.add("w", np.zeros(3, np.float32), begin(fail))
    for _ in range(2):
        with pytest.raises(MemoryError, match="no room"):
            store[key]
    store.drop(key)
    assert store.add("w", np.ones(2, np.float32)) == key and list(store[key]) == [1, 1]
