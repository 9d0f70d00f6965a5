"""What a backend's code may be, and what reaches it: closures, shared objects, dtypes and dynamic shapes."""
import subprocess
import time

import numpy as np
import partition_backends as pb
import pytest
import tvm_ffi
from graphs import build
from interpret import interpret, relative_error
from partition_models import network, random, same

import legato
from legato.artifacts import SharedObject
from legato.dialects import relax
from legato.runtime.package import saved_files


def test_closures_serve_here_and_cannot_be_saved(tmp_path):
    module = network()
    executable = legato.compile(module, backends=[pb.Closures])
    same(executable, module, random(1, 3, 8, 8))
    with pytest.raises(legato.LegatoError, match=r"cannot be saved: for the backend 'closures' it calls runner.<locals>.run"):
        executable.save(tmp_path / "model.legato")


def saved(folder, *backends):
    path = legato.compile(network(), backends=backends).save(folder / "model.legato")
    return path, saved_files(path)[-1]


def refused(path, **options):
    with pytest.raises(legato.LegatoError) as caught:
        legato.load(path, **options)
    return str(caught.value)


def test_artifacts_missing(tmp_path):
    path, artifacts = saved(tmp_path, pb.Conv)
    artifacts.unlink()
    assert f"the parts of the model that backends made are missing: there is no file {artifacts}" in refused(path)


def test_artifacts_changed(tmp_path):
    path, artifacts = saved(tmp_path, pb.Conv)
    data = bytearray(artifacts.read_bytes())
    at = data.rindex(b"PK\x01\x02") + 12  # a member's time: nothing that zip itself would notice
    data[at] ^= 1
    artifacts.write_bytes(data)
    assert f"{artifacts}, the parts of the model that backends made, was changed after it was saved" in refused(path)
    for cut in (data[:100], b""):
        artifacts.write_bytes(cut)
        assert "was changed after it was saved" in refused(path)


def test_artifacts_of_another_model(tmp_path):
    path, artifacts = saved(tmp_path, pb.Conv)
    _, others = saved(tmp_path / "other", pb.Conv, pb.Dense)
    artifacts.write_bytes(others.read_bytes())
    assert "is that of another model or of another compile of this one" in refused(path)


C = """
#include <stdint.h>
typedef struct { int32_t index, padding; int64_t value; } Any;
typedef struct { float* data; int32_t device[2], ndim; uint8_t dtype[4]; int64_t* shape; int64_t* strides; uint64_t offset; } Tensor;
int __tvm_ffi_unary_0(void* self, const Any* args, int32_t count, Any* ret) {
  Tensor *x = (Tensor*)(args[0].value + 24), *y = (Tensor*)(args[1].value + 24);
  for (int64_t i = 0; i < x->shape[0]; ++i) y->data[i] = x->data[i] < 0 ? 0 : x->data[i];
  return 0;
}
"""


def shared_object(folder):
    (folder / "c.c").write_text(C)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", folder / "c.so", folder / "c.c"], check=True)
    return folder / "c.so"


def test_a_shared_object_and_what_a_call_of_it_costs(tmp_path):
    """Under 2 microseconds a call: creating two Tensors, calling, dropping them."""
    class Native(legato.Backend):
        name = "native"
        patterns = [("unary", pb.UNARY)]

        def codegen(self, module, options):
            names = tuple(f.name.value for f in module.functions() if "sym_visibility" not in f.operation.attributes)
            return SharedObject.read(shared_object(tmp_path), {name: "unary_0" for name in names})

    def chain(length):
        def body(x):
            for _ in range(length):
                x = relax.negative(relax.relu(x))
            return x

        return build([(16,)], body)

    x = random(16)
    seconds = {}
    for length in (1, 41):
        executable = legato.compile(chain(length), backends=[Native])
        assert relative_error(executable(x), interpret(chain(length), [x])[0]) == 0
        seconds[length] = min(timed(executable, x) for _ in range(40))
    assert (seconds[41] - seconds[1]) / 40 < 2e-6
    loaded = legato.load(executable.save(tmp_path / "model.legato"))
    assert relative_error(loaded(x), executable(x)) == 0


def timed(executable, x, count=50):
    begin = time.process_time()
    for _ in range(count):
        executable(x)
    return (time.process_time() - begin) / count


def test_dtypes_and_dynamic_shapes_reach_packed_functions():
    seen = []

    def compare(x, y, out):
        seen.append((str(x.dtype), tuple(x.shape), str(out.dtype), tuple(out.shape)))
        np.from_dlpack(out)[...] = np.from_dlpack(x) < np.from_dlpack(y)

    module = build([("n", 2), ("n", 2)], lambda x, y: relax.call_dps_packed("test.less", [x, y], relax.less(x, y).type))
    tvm_ffi.register_global_func("test.less", compare)
    try:
        executable = legato.compile(module)
        x, y = random(3, 2), np.zeros((3, 2), np.float32)
        assert (executable(x, y) == (x < y)).all()
        assert seen == [("float32", (3, 2), "bool", (3, 2))]
    finally:
        tvm_ffi.registry.remove_global_func("test.less")
