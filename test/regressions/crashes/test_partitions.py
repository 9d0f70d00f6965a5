"""Packed functions and parts for backends in functions other than main, and in branches and loops."""
import numpy as np
import onnx
import pytest
import tvm_ffi
from onnx_check import reference

import legato
from legato.artifacts import Closure, Lowered
from legato.core.ir_helpers import find
from legato.dialects import Module, relax
from legato.patterns import is_const, is_op, wildcard
from legato.script import R, T

X = np.array([-1, 0, 0.5, 2], np.float32)


@tvm_ffi.register_global_func("crashes.double", override=True)
def double(x, out):
    np.copyto(np.from_dlpack(out), np.multiply(np.from_dlpack(x), np.float32(2)))


@tvm_ffi.register_global_func("crashes.triple", override=True)
def triple(x):
    return tvm_ffi.from_dlpack(np.ascontiguousarray(np.multiply(np.from_dlpack(x), np.float32(3))))


CALLED = {"double": ("(%x, %e) : (tensor<4xf32>, tensor<4xf32>)", "(tensor<4xf32>, tensor<4xf32> {tir.out})", "crashes.double", "", 2),
          "triple": ("(%x) : (tensor<4xf32>)", "(tensor<4xf32>)", "crashes.triple", ", relax.returns", 3)}


@pytest.mark.parametrize("visibility", ["private", ""])
@pytest.mark.parametrize("function", CALLED)
def test_a_packed_function_called_from_another_function(function, visibility):
    call, arguments, name, marks, factor = CALLED[function]
    module = Module.parse(f"""
func.func private @packed{arguments} -> tensor<4xf32> attributes {{relax.packed = "{name}"{marks}}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}
func.func {visibility} @outer(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}
func.func {visibility} @inner(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %e = tensor.empty() : tensor<4xf32>
  %0 = call @packed{call} -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}""")
    np.testing.assert_allclose(legato.compile(module)(X), factor * np.tanh(factor * X), rtol=1e-6)


def test_a_kernel_that_calls_a_packed_function_from_another_function():
    @T.prim_func
    def doubles(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.call_packed("crashes.double", A, B)

    text = str(doubles.module()).replace("@main", "@layer")
    module = Module.parse(text.rstrip().removesuffix("}") + """
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}""")
    np.testing.assert_array_equal(legato.compile(module)(X), 2 * X)


def test_a_rule_that_calls_a_packed_function_in_another_function():
    module = Module.parse("""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.erf"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""")
    rule = legato.rewrite("relax.erf")(lambda op, x: op.call_packed("crashes.double"))
    np.testing.assert_array_equal(legato.compile(module, rules=[rule])(X), 2 * X)


def run_graph(function, arrays):
    """The results of a function of graph ops by their numpy semantics."""
    values = dict(zip(function.arguments, arrays))
    for view in function.body.blocks[0].operations:
        op = view.operation
        if op.name == "func.return":
            return [values[v] for v in op.operands]
        if op.name == "relax.constant":
            values[op.results[0]] = op.opview.value
        else:
            values[op.results[0]] = relax.semantics[op.name](*[values[v] for v in op.operands], **relax.attributes_of(op))
    raise AssertionError


class Interpreted(legato.Backend):
    """Runs its parts by numpy."""

    name = "interpreted"
    patterns = [("dense", is_op("relax.matmul")(wildcard(), is_const())), ("add", is_op("relax.add")(wildcard(), wildcard())),
                ("exp", is_op("relax.exp")(wildcard()))]

    def codegen(self, module, options):
        legato.Pipeline("relax-inline").run(module)
        module = Module.parse(str(module))

        def call(name):
            def run(*arrays):
                function = module.function(name)
                inputs, outputs = arrays[:len(function.arguments)], arrays[len(function.arguments):]
                for out, value in zip(outputs, run_graph(function, [np.array(a) for a in inputs])):
                    np.copyto(out, value)

            return run

        return [Closure(call(f.name.value), functions=(f.name.value,)) for f in module.functions()
                if "sym_visibility" not in f.operation.attributes]


class AsIr(legato.Backend):
    """Gives its parts back as they are."""

    name = "as_ir"
    patterns = Interpreted.patterns

    def codegen(self, module, options):
        return Lowered(module)


RANDOM = np.random.default_rng(0)
W, V = (RANDOM.standard_normal((4, 4)).astype(np.float32) / 4 for _ in range(2))
B = RANDOM.standard_normal(4).astype(np.float32)


@R.function
def branches(x: R.Tensor(("n", 4), "float32"), a: R.Tensor((), "bool"), c: R.Tensor((), "bool")):
    w = R.const(W)
    b = R.const(B)
    h = R.add(x, b)
    if a:
        m = R.add(R.matmul(h, w), b)
        if c:
            t = R.add(m, b)
        else:
            t = R.exp(m)
        y = t
    else:
        y = R.tanh(R.matmul(h, R.const(V)))
    return R.add(y, h)


def by_numpy(x, a, c):
    h = x + B
    m = h @ W + B
    return ((m + B if c else np.exp(m)) if a else np.tanh(h @ V)) + h


@pytest.mark.parametrize("backends", [[Interpreted], [AsIr], ["onnxruntime"], [AsIr, "onnxruntime"]], ids=str)
def test_parts_in_branches(backends):
    executable = legato.compile(branches, backends=backends)
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    for a in (False, True):
        for c in (False, True):
            np.testing.assert_allclose(executable(x, np.array(a), np.array(c)), by_numpy(x, a, c), rtol=1e-5, atol=1e-6)


def test_branches_are_matched_merged_and_put_back():
    module = branches.module()
    assert len(find(module.operation, "scf.if")) == 2
    legato.partition(module, [Interpreted], codegen=False)
    called = [op for branch in find(module.operation, "scf.if") for op in find(branch, "func.call")]
    assert len({op.attributes["callee"].value for op in called}) == 4  # then: matmul + add; in it add, and exp; else: matmul
    assert "relax.matmul" not in "".join(str(f) for f in module.functions())
    legato.Pipeline("relax-inline-external,relax-inline").run(module)
    assert not find(module.operation, "func.call") and len(find(module.operation, "relax.matmul")) == 2


LOOPS = """<ir_version: 10, opset_import: ["": 18]>
g (int64 n, bool c, float[3, 4] x, float[4, 4] w, float[k, 3, 4] z) => (float[3, 4] y, float[3, 4] u, float[k, 3, 4] v) {
  y = Loop(n, , x) <body = step (int64 i, bool going, float[3, 4] s) => (bool goes, float[3, 4] next) {
    goes = Identity(going)
    h = MatMul(s, w)
    t = If(c) <then_branch = then () => (float[3, 4] a) { a = Tanh(h) }, else_branch = other () => (float[3, 4] b) { b = MatMul(x, w) }>
    next = Add(t, x)
  }>
  u, v = Scan<num_scan_inputs = 1, body = slice (float[3, 4] s, float[3, 4] p) => (float[3, 4] next, float[3, 4] o) {
    m = MatMul(s, w)
    next = Add(m, p)
    o = Exp(next)
  }>(x, z)
}"""


@pytest.mark.parametrize("backends", [[Interpreted], [AsIr], ["onnxruntime"], [AsIr, "onnxruntime"]], ids=str)
def test_parts_in_loops(backends):
    proto = onnx.parser.parse_model(LOOPS)
    module = legato.from_onnx(proto)
    legato.partition(module, backends, codegen=False)
    for loop in ("scf.while", "scf.for"):
        assert any(find(op, "func.call") for op in find(module.operation, loop))
    executable = legato.compile(legato.from_onnx(proto), backends=backends)
    rng = np.random.default_rng(1)
    x, w, z = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4, 4), (3, 3, 4)))
    for n, c, k in ((0, True, 1), (1, False, 2), (3, True, 3)):
        given = {"n": np.array(n), "c": np.array(c), "x": x, "w": w / 2, "z": z[:k]}
        for ours, theirs in zip(executable(**given), reference(proto, given), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_parts_in_functions():
    module = Module.parse("""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @layer(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}""")
    for backend in (Interpreted, AsIr, "onnxruntime"):
        np.testing.assert_allclose(legato.compile(module, backends=[backend])(X), np.tanh(2 * np.tanh(2 * X)), rtol=1e-6)


@pytest.mark.parametrize("visibility", ["private", ""])
@pytest.mark.parametrize("backend", [Interpreted, AsIr])
def test_a_helper_of_a_given_function_that_others_call(backend, visibility):
    module = Module.parse(f"""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = call @given(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @helper(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}
func.func private @given(%x: tensor<4xf32>) -> tensor<4xf32> attributes {{relax.codegen = "{backend.name}"}} {{
  %0 = call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}
func.func {visibility} @helper(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = "relax.negative"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}""")
    np.testing.assert_allclose(legato.compile(module, backends=[backend])(X), -np.tanh(-X), rtol=1e-6)
