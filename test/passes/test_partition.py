"""Partitioned models end to end: artifacts of every kind, errors, several backends, saved and run in another process."""
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import partition_backends as pb
import pytest
import tvm_ffi
from graphs import build
from interpret import interpret, relative_error

import legato
from legato.artifacts import Blob, Lowered, PythonFunction, Registered, SharedObject
from legato.dialects import relax
from legato.mlir import ir
from legato.passes.partition.costs import groups, veto
from legato.passes.scope import external_modules

TEST = Path(__file__).resolve().parents[1]


def random(*shape):
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def network():
    """Convolution and relu, then a matmul, then what the host keeps. The weights are in the store."""
    def body(x):
        y = relax.relu(relax.conv2d(x, relax.weight("conv", np.float32, (16, 3, 3, 3))))
        y = relax.reshape(y, shape=[12, 48])
        y = relax.tanh(relax.matmul(y, relax.weight("dense", np.float32, (48, 16))))
        return relax.softmax(relax.add(y, y), axis=-1)

    module = build([(1, 3, 8, 8)], body)
    module.weights.add("conv", random(16, 3, 3, 3))
    module.weights.add("dense", random(48, 16) / 7)
    return module


def same(executable, module, *inputs):
    found = executable(*inputs)
    for ours, theirs in zip(found if isinstance(found, tuple) else (found,), interpret(module, inputs), strict=True):
        assert relative_error(ours, theirs) < 1e-5


def packed(module):
    """The packed functions that the host calls."""
    return [f.attributes["relax.packed"].value for f in module.functions() if "relax.packed" in f.attributes]


def test_agreed_symbol():
    """B4: convolution and relu become one call of a function that both sides know by name; outputs are the caller's."""
    class Library(legato.Backend):
        name = "library"
        patterns = [("conv2d", pb.CONV_RELU)]

        def codegen(self, module, options):
            return Registered("test.conv_relu_lib")

    module = build([(1, 3, 8, 8)], lambda x: relax.tanh(relax.relu(relax.conv2d(x, kernel()))))
    calls = []

    def conv_relu_lib(x, out):
        calls.append((x.shape, out.shape))
        inner = build([(1, 3, 8, 8)], lambda x: relax.relu(relax.conv2d(x, kernel())))
        np.from_dlpack(out)[...] = interpret(inner, [np.from_dlpack(x)])[0]

    with pytest.raises(legato.LegatoError, match=r"calls the packed function 'test.conv_relu_lib', which is not there.*Register it before"):
        legato.compile(module, backends=[Library])
    tvm_ffi.register_global_func("test.conv_relu_lib", conv_relu_lib)
    try:
        executable = legato.compile(module, backends=[Library])
        same(executable, module, random(1, 3, 8, 8))
        assert calls == [((1, 3, 8, 8), (1, 4, 6, 6))]
    finally:
        tvm_ffi.registry.remove_global_func("test.conv_relu_lib")


def kernel():
    return relax.constant(np.linspace(-1, 1, 108, dtype=np.float32).reshape(4, 3, 3, 3))


def test_a_failing_function_ends_the_call_with_its_error():
    class Fails(legato.Backend):
        name = "fails"
        patterns = [("exp", pb.UNARY)]

        def codegen(self, module, options):
            return pb.Closure(self.fail)

        def fail(self, x, out):
            if x.flat[0] > 0:
                raise ValueError("positive")
            out[...] = 1

    executable = legato.compile(build([(4,)], lambda x: relax.negative(relax.exp(x))), backends=[Fails])
    with pytest.raises(ValueError, match="positive"):
        executable(np.ones(4, np.float32))
    assert (executable(-np.ones(4, np.float32)) == -1).all()


def test_what_a_backend_gets():
    """B6: its functions with graph ops, the whole module at once, constants included."""
    conv, module = pb.Conv(), network()
    legato.partition(module, [conv, pb.Dense])
    (seen,) = conv.seen
    text = str(seen)
    assert "relax.conv2d" in text and "relax.relu" in text and "relax.matmul" not in text
    assert [f.name.value for f in seen.functions()] == ["conv2d_0"]
    assert seen.used_weights() and all(key in seen.weights for key in seen.used_weights())
    assert packed(module) == ["conv.conv2d_0", "dense.matmul_0"]


@pytest.mark.parametrize("order", [(pb.Conv, pb.Dense), (pb.Dense, pb.Conv)])
def test_two_backends_in_both_orders_saved_and_run_elsewhere(order, tmp_path):
    """B9, B10."""
    module = network()
    x = random(1, 3, 8, 8)
    executable = legato.compile(module, backends=order)
    same(executable, module, x)
    path = executable.save(tmp_path / "model.so")
    assert (tmp_path / "model.so.artifacts").exists()
    same(legato.load(path), module, x)
    np.save(tmp_path / "x.npy", x)
    script = "import numpy, legato; numpy.save('y.npy', legato.load('model.so')(numpy.load('x.npy')))"
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": str(TEST)}, timeout=120, cwd=tmp_path)
    assert relative_error(np.load(tmp_path / "y.npy"), interpret(module, [x])[0]) < 1e-5


def test_again_and_with_passes_between():
    """B9: a second partition by the same backend has a module of its own; artifacts of the first stay."""
    module = network()
    legato.partition(module, [pb.Pointwise], costs=[Only("tanh")])
    first = str(module)
    legato.Pipeline("relax-canonicalize,cse").run(module)
    legato.partition(module, [pb.Pointwise])
    legato.partition(module, [pb.Conv])
    text = str(module)
    assert "module @pointwise " in first and "module @pointwise_1 " not in first
    assert "module @pointwise " in text and "module @pointwise_1 " in text and "module @conv " in text
    assert {name.split(".")[0] for name in packed(module)} == {"pointwise", "pointwise_1", "conv"}
    same(legato.compile(module), network(), random(1, 3, 8, 8))


class Only(legato.ModulePass):
    """A cost pass: groups with this op only."""

    name = "test-only"

    def __init__(self, op):
        self.op = op

    def __str__(self):
        return self.name

    def run(self, module, context):
        for group in groups(module):
            if not any(op.name == f"relax.{self.op}" for op in group.ops):
                veto(group, f"no {self.op}")


def test_costs_are_a_pass_of_their_own():
    """B11: with the cost pass the dispatch differs, and nothing else."""
    with_all, with_few = network(), network()
    legato.partition(with_all, [pb.Pointwise])
    legato.partition(with_few, [pb.Pointwise], costs=[Only("tanh")])
    assert packed(with_few) != packed(with_all)
    x = random(1, 3, 8, 8)
    for module in (with_all, with_few):
        same(legato.compile(module), network(), x)


@pytest.mark.parametrize("backend", [pb.Inline, pb.InlineLater])
def test_lowered_in_codegen_or_before(backend):
    """B8: IR as the artifact."""
    module = network()
    legato.partition(module, [backend])
    assert "relax.codegen" not in str(module) and "linalg.matmul" in str(module) and "relax.matmul" not in str(module)
    same(legato.compile(module), network(), random(1, 3, 8, 8))


def test_a_kernel_is_offloaded():
    """B12: a loop nest that is a matmul goes to the backend, as a kernel; what is around it stays."""
    text = (TEST / "passes" / "fuse_by_pattern.mlir").read_text().split("// -----")[-1].replace("@kernels", "@main")
    module = legato.Module.parse(text)

    class Kernels(legato.Backend):
        name = "kernels"
        patterns = [("matmul", pb.MATMUL)]

        def codegen(self, module, options):
            assert "linalg.generic" in str(module)
            return pb.Closure(lambda x, out: np.copyto(out, x.sum(axis=1, keepdims=True)))  # the weights are ones

    expected = legato.compile(module)
    executable = legato.compile(module, backends=[Kernels])
    x = random(4, 8)
    assert relative_error(executable(x), expected(x)) < 1e-5
    assert [r.function for r in executable.report.details["partition"] if r.function] == ["kernels_matmul_0"]


def test_marked_by_hand():
    """B17."""
    module = network()
    module.function().operation.attributes["relax.codegen"] = ir.StringAttr.get("conv", module.context)
    legato.partition(module, [pb.Conv])
    assert packed(module) == ["conv.main"]
    same(legato.compile(module), network(), random(1, 3, 8, 8))


def test_closures_serve_here_and_cannot_be_saved(tmp_path):
    module = network()
    executable = legato.compile(module, backends=[pb.Closures])
    same(executable, module, random(1, 3, 8, 8))
    with pytest.raises(legato.LegatoError, match=r"cannot be saved: for the backend 'closures' it calls runner.<locals>.run"):
        executable.save(tmp_path / "model.so")


def test_inlined_back():
    """B14: and what is compiled then is what was there."""
    module = network()
    before = str(module)
    legato.partition(module, [pb.Conv, pb.Dense], codegen=False)
    assert "relax.external" in str(module)
    with pytest.raises(legato.LegatoError, match="of the external module @conv has no code yet"):
        legato.compile(module)
    legato.Pipeline("relax-inline-external").run(module)
    assert str(module) == before
    same(legato.compile(module), network(), random(1, 3, 8, 8))


class Bad(legato.Backend):
    name = "bad"
    patterns = [("matmul", pb.MATMUL)]

    def __init__(self, *artifacts, requires=()):
        self.artifacts, self.requires = artifacts, requires

    def codegen(self, module, options):
        return self.artifacts


@pytest.mark.parametrize("backend, message", [
    (Bad(), r"made no code for @matmul_0 of its module @bad; it made code for: nothing"),
    (Bad(PythonFunction("a:b"), PythonFunction("c:d")), r"made code for @bad::@matmul_0 twice: PythonFunction and PythonFunction"),
    (Bad(PythonFunction("a:b", ("other",))), r"made code for @other, which its module @bad does not have; it has: @matmul_0"),
    (Bad("no artifact"), r"codegen returns artifacts"),
    (Bad(PythonFunction("no_such_package:f")), r"'no_such_package:f' cannot be imported: ModuleNotFoundError"),
    (Bad(PythonFunction("partition_backends:nothing")), r"'partition_backends:nothing' cannot be imported: AttributeError"),
    (Bad(SharedObject(b"no elf")), r"the shared object of the backend 'bad' does not give the function 'matmul_0'"),
    (Bad(PythonFunction("a:b"), requires=["no_such_package"]), r"the backend 'bad' needs no_such_package, which is not installed"),
    (Bad(Lowered(legato.Module.parse("module {}"))), r"gave IR without the function @matmul_0 of its module @bad"),
    ("bed", r"unknown backend 'bed'.*known: .*onnxruntime"),
    (42, r"a backend is a subclass of legato.Backend"),
])
def test_errors_at_build(backend, message):
    """B5: clashes, missing symbols and backends are errors of the compile, with what is there."""
    with pytest.raises(legato.LegatoError, match=message):
        legato.compile(network(), backends=[backend])


def test_no_importable_name():
    with pytest.raises(legato.LegatoError, match="names no Python function"):
        Blob(b"", "package.name")


def test_clashes():
    with pytest.raises(legato.LegatoError, match="two backends are named 'conv'"):
        legato.compile(network(), backends=[pb.Conv(), pb.Conv()])
    module = network()
    with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_terminator(module.function().entry_block):
        relax.call_dps_packed("dense.matmul_0", [module.function().arguments[0]], module.function().arguments[0].type, symbol="other")
    with pytest.raises(legato.LegatoError, match=r"made the packed function 'dense\.matmul_0' for @matmul_0, and the module calls another"):
        legato.partition(module, [pb.Dense])


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
    loaded = legato.load(executable.save(tmp_path / "model.so"))
    assert relative_error(loaded(x), executable(x)) == 0


def timed(executable, x, count=50):
    begin = time.perf_counter()
    for _ in range(count):
        executable(x)
    return (time.perf_counter() - begin) / count


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


def test_a_model_of_a_thousand_ops_is_partitioned_in_two_seconds():
    def body(x):
        for i in range(250):
            x = relax.add(relax.exp(relax.matmul(x, relax.constant(np.eye(4, dtype=np.float32)))), relax.softmax(x) if i % 2 else x)
        return x

    module = build([(4, 4)], body)
    begin = time.perf_counter()
    legato.partition(module, [pb.Dense, pb.Pointwise], codegen=False)
    seconds = time.perf_counter() - begin
    print(f"{seconds:.2f} s")
    assert seconds < 2


class Nhwc(pb.Interpreter):
    """Wants NHWC and OHWI: its declared pipeline sees to it, in its modules only."""

    name = "nhwc"
    patterns = [("conv2d", pb.CONV)]
    pipeline = "relax-inline,relax-convert-layout{data-layout=NHWC kernel-layout=OHWI},relax-fold-constants,relax-canonicalize"


def two_convolutions():
    def body(x):
        x = relax.relu(relax.conv2d(x, relax.weight("conv", np.float32, (16, 3, 3, 3))))
        return relax.tanh(relax.conv2d(x, relax.constant(random(4, 16, 1, 1)), groups=1, strides=[2, 2]))

    module = build([(1, 3, 8, 8)], body)
    module.weights.add("conv", random(16, 3, 3, 3))
    return module


def test_a_declared_pipeline_runs_before_code_generation():
    """S5, S3: without being asked; the host's convolutions keep their layout; results equal."""
    backend, module = Nhwc(), two_convolutions()
    backend.patterns = [("conv2d", pb.CONV.has_attr(strides=[2, 2]))]
    legato.partition(module, [backend])
    (seen,) = backend.seen
    assert 'kernel_layout = "OHWI"' in str(seen) and seen.constants()[0].operation.results[0].type.shape == [4, 1, 1, 16]
    host = str(module.function())
    assert "relax.conv2d" in host and "OHWI" not in host and "NHWC" not in host
    same(legato.compile(module), two_convolutions(), random(1, 3, 8, 8))


def test_the_same_by_hand_between_partition_and_codegen():
    """S2, S3: a pipeline in one backend's modules, then the code generation."""
    plain = pb.Conv()
    module = legato.partition(two_convolutions(), [plain], codegen=False)
    inside = "relax-inline,relax-convert-layout{data-layout=NHWC kernel-layout=OHWI},relax-fold-constants"
    legato.Pipeline(f'external<"conv">({inside})').run(module)
    legato.partition(module, [plain])
    assert 'kernel_layout = "OHWI"' in str(plain.seen[0])
    same(legato.compile(module), two_convolutions(), random(1, 3, 8, 8))


def test_a_pipeline_that_changes_what_the_host_calls():
    class Careless(pb.Conv):
        pipeline = ["relax-inline", Rename()]

    with pytest.raises(legato.LegatoError, match=r"pipeline of the backend 'conv' has changed the type of, or removed, @part_0"):
        legato.partition(two_convolutions(), [Careless()])


class Rename(legato.ModulePass):
    """Renames every function."""

    name = "test-rename"

    def __str__(self):
        return self.name

    def run(self, module, context):
        for function in module.functions():
            function.operation.attributes["sym_name"] = ir.StringAttr.get("other_" + function.name.value)


def test_a_users_pass_chooses_functions_by_backend():
    """S6."""
    @dataclass(frozen=True)
    class Mark(legato.ModulePass):
        name = "test-mark"
        sees_external = True

        def run(self, module, context):
            for external in external_modules(module.module, "conv"):
                external.attributes["test.marked"] = ir.UnitAttr.get()

    module = legato.partition(network(), [pb.Conv, pb.Dense], codegen=False)
    legato.Pipeline("test-mark", extra_passes=[Mark]).run(module)
    assert [("test.marked" in m.attributes) for m in external_modules(module.module)] == [True, False]
