"""Partitioned models end to end: what backends get, several of them, saved and run in another process."""
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import partition_backends as pb
import pytest
import tvm_ffi
from graphs import build
from interpret import interpret, relative_error
from partition_models import kernel, network, packed, random, same

import legato
from legato.artifacts import Registered
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.partition.costs import groups, veto
from legato.patterns import is_op, wildcard
from legato.runtime.package import saved_files

TEST = Path(__file__).resolve().parents[2]


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
    path = executable.save(tmp_path / "model.legato")
    assert [file.suffix for file in saved_files(path)] == [".legato", ".artifacts"]
    same(legato.load(path), module, x)
    np.save(tmp_path / "x.npy", x)
    script = "import numpy, legato; numpy.save('y.npy', legato.load('model.legato')(numpy.load('x.npy')))"
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


def test_a_veto_is_recorded_as_a_refusal():
    context = legato.PassContext()
    legato.partition(network(), [pb.Pointwise], costs=[Only("tanh")], context=context)
    records = context.report["partition"]
    taken, vetoed = [r for r in records if r.function], [r for r in records if r.reason == "vetoed: no tanh"]
    assert vetoed
    assert all("tanh" in str(r.ops) for r in taken)
    assert not any(r.function for r in vetoed)


@pytest.mark.parametrize("backend", [pb.Inline, pb.InlineLater])
def test_lowered_in_codegen_or_before(backend):
    """B8: IR as the artifact."""
    module = network()
    legato.partition(module, [backend])
    assert "relax.codegen" not in str(module) and "linalg.matmul" in str(module) and '"relax.matmul"(' not in str(module)
    same(legato.compile(module), network(), random(1, 3, 8, 8))


@pytest.mark.parametrize("backend", [pb.Inline, pb.InlineLater])
def test_lowered_code_of_plain_types(backend):
    """Booleans are bytes and sizes have no names in lowered functions: the host took them for functions of other types."""
    class Comparing(backend):
        patterns = [("both", is_op("relax.logical_and")(is_op("relax.greater")(wildcard(), wildcard()), wildcard()))]

    def type_of(element):
        return f'tensor<?x4x{element}, #relax.dims<["n", 4]>>'

    module = legato.Module.parse(f"""
    func.func @main(%x: {type_of("f32")}, %y: {type_of("f32")}, %b: {type_of("i1")}) -> {type_of("i1")} {{
      %0 = "relax.greater"(%x, %y) : ({type_of("f32")}, {type_of("f32")}) -> {type_of("i1")}
      %1 = "relax.logical_and"(%0, %b) : ({type_of("i1")}, {type_of("i1")}) -> {type_of("i1")}
      %2 = "relax.logical_not"(%1) : ({type_of("i1")}) -> {type_of("i1")}
      return %2 : {type_of("i1")}
    }}""")
    executable = legato.compile(module, backends=[Comparing])
    assert [r.function for r in executable.report.details["partition"] if r.function]
    x, y = random(2, 5, 4)
    b = x > 0.1
    np.testing.assert_array_equal(executable(x, y, b), ~((x > y) & b))


def test_a_size_that_only_results_have_is_refused_where_code_allocates():
    """The kernel's size was read from a value behind it, and the module did not verify."""
    module = legato.Module.parse("""
    func.func @main() -> tensor<?xf32, #relax.dims<["n"]>> {
      %0 = "relax.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
      %1 = "relax.broadcast_to"(%0) {shape = #relax.dims<["n"]>} : (tensor<f32>) -> tensor<?xf32, #relax.dims<["n"]>>
      return %1 : tensor<?xf32, #relax.dims<["n"]>>
    }""")
    with pytest.raises(legato.LegatoError, match=r"'n' is not a dimension .* is needed before relax.broadcast_to"):
        legato.Pipeline("relax-legalize{target=generic}").run(module, pb.generic_context())


def test_lowered_code_keeps_its_own_weights():
    """IR that a backend gives may hold other data under a key of the host: each side keeps its own."""
    class Doubled(pb.Inline):
        def codegen(self, module, options):
            dense = module.weights["dense"]
            module.weights.drop("dense")
            module.weights.add("dense", 2 * dense)
            return super().codegen(module, options)

    def body(x):
        w = relax.weight("dense", np.float32, (48, 48))
        return relax.add(relax.matmul(x, w), w)  # the matmul goes to the backend, the sum stays

    module = build([(48, 48)], body)
    module.weights.add("dense", random(48, 48))
    x = random(48, 48)
    found = legato.compile(module, backends=[Doubled])(x)
    assert relative_error(found, x @ (2 * module.weights["dense"]) + module.weights["dense"]) < 1e-5


def test_a_kernel_is_offloaded():
    """B12: a loop nest that is a matmul goes to the backend, as a kernel; what is around it stays."""
    text = (TEST / "passes" / "partition" / "fuse_by_pattern.mlir").read_text().split("// -----")[-1].replace("@kernels", "@main")
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


def test_a_model_of_a_thousand_ops_is_partitioned_in_seconds():
    """Of the processor's time, which other processes do not take."""
    def body(x):
        for i in range(250):
            x = relax.add(relax.exp(relax.matmul(x, relax.constant(np.eye(4, dtype=np.float32)))), relax.softmax(x) if i % 2 else x)
        return x

    module = build([(4, 4)], body)
    begin = time.process_time()
    legato.partition(module, [pb.Dense, pb.Pointwise], codegen=False)
    assert time.process_time() - begin < 4
