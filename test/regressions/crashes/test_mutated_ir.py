"""Passes on IR of another stage, and on IR that someone has changed: they run or refuse it, and never end in an error of another kind, nor
in a signal."""
import re

import pytest

import legato
from legato.core.errors import LegatoError
from legato.dialects import Module
from legato.script import T

LOOPS = """func.func private @sine(f32) -> f32 attributes {tir.extern}
func.func private @step(%x: tensor<4xf32>, %y: tensor<4xf32> {bufferization.writable = true, tir.out}) -> tensor<4xf32>
    attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = func.call @sine(%in) : (f32) -> f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %2 = tensor.extract_slice %0[0] [4] [1] : tensor<4xf32> to tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = call @step(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


def test_a_kernel_that_calls_a_function_of_c_becomes_loops():
    module = Module.parse(LOOPS)
    legato.Pipeline("tir-to-loops").run(module)
    kernel = str(module.function("step"))
    assert "tir.for" in kernel and "call @sine" in kernel and "linalg" not in kernel


def test_a_kernel_that_calls_a_kernel_is_refused():
    inner = """func.func private @inner(%x: tensor<4xf32>, %y: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
      return %y : tensor<4xf32>
    }
    """
    text = LOOPS.replace("tensor.extract_slice %0[0] [4] [1] : tensor<4xf32> to tensor<4xf32>",
                         "func.call @inner(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>")
    with pytest.raises(LegatoError, match="@step cannot be put into loops: it calls @inner, which has tensors; inline that one first"):
        legato.Pipeline("tir-to-loops").run(Module.parse(inner + text))


@pytest.mark.parametrize("stage", ["imported", "legalized", "scheduled", "bufferized", "llvm"])
def test_memory_is_planned_for_buffers_and_once(stage):
    module = Module.parse('func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n'
                          '  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}')
    module = module if stage == "imported" else legato.lower(module, last=stage)
    with pytest.raises(LegatoError, match="memory is planned for"):
        legato.Pipeline("tir-plan-memory").run(module)


@pytest.mark.parametrize("passes", ["tir-fuse", "tir-to-loops"])
def test_kernels_on_buffers_stay_as_they_are(passes):
    module = legato.lower(Module.parse(LOOPS.replace("tensor.extract_slice %0[0] [4] [1] : tensor<4xf32> to tensor<4xf32>",
                                                     "tensor.cast %0 : tensor<4xf32> to tensor<4xf32>")), last="bufferized")
    legato.Pipeline("canonicalize,cse").run(module)
    before = str(module.function("step"))
    legato.Pipeline(f"{passes},canonicalize,cse").run(module)
    assert str(module.function("step")) == before


def test_contractions_on_buffers_are_no_contractions_of_tensors():
    body = "linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)"
    kernel = ("func.func private @k(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<4x4xf32> {tir.out})\n"
              f"attributes {{tir.prim_func}} {{\n{body}\nreturn\n}}\n"
              "func.func @main(%a: memref<4x4xf32>) {\ncall @k(%a, %a, %a) : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()\n"
              "return\n}")
    for passes in ("tir-expand-readers", "tir-gather-rows", "tir-prepare-contractions", "tir-split-windows", "tir-expand-pads",
                   "tir-schedule{target=llvm}", "tir-pack-weights{target=llvm}", "tir-collapse-dims", "tir-fuse", "tir-raise-loops"):
        module = Module.parse(kernel)
        legato.Pipeline(passes).run(module)
        assert "linalg.matmul" in str(module), passes


def test_a_launch_without_effects_is_dropped():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            T.evaluate(A[tx])
        for ty in T.thread_binding(8, thread="threadIdx.x"):
            B[ty] = A[ty]

    module = kernel.module()
    legato.Pipeline("tir-lower-threads{target=nvvm}").run(module)
    assert str(module).count("gpu.launch blocks") == 1


@pytest.mark.parametrize("attribute", ["relax.ops = [3]", 'relax.ops = "relax.exp"', "relax.ops"])
def test_names_of_graph_ops_are_strings(attribute):
    module = Module.parse("""
func.func private @k(%x: tensor<4xf32>, %y: tensor<4xf32> {bufferization.writable = true, tir.out}) -> tensor<4xf32>
    attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = call @k(%x, %0) {ATTRIBUTE} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = call @k(%1, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}""".replace("ATTRIBUTE", attribute))
    with pytest.raises(LegatoError, match=r"the attribute relax\.ops must be an array of strings"):
        legato.Pipeline("tir-fuse").run(module)


@pytest.mark.parametrize(("attribute", "message"), [
    ("kind = 3 : i64", "attribute 'kind' must be a string, is 3 : i64"), ("name = unit", "attribute 'name' must be a string"),
    ('thread = ["threadIdx.x"], kind = "thread"', "attribute 'thread' must be a string"),
])
def test_an_attribute_of_a_loop_is_of_its_kind(attribute, message):
    loop = f'"tir.for"(%a, %a) ({{\n^bb0(%i: index):\n  "tir.yield"() : () -> ()\n}}) {{{attribute}}} : (index, index) -> ()'
    with pytest.raises(LegatoError, match=message):
        Module.parse(f"func.func @f(%a: index) {{\n{loop}\nreturn\n}}")


@pytest.mark.parametrize("value", ["3 : i64", "[]", "@written"])
def test_marks_of_functions_are_of_their_kind(value):
    module = Module.parse(LOOPS.replace("attributes {tir.prim_func}", f"attributes {{tir.prim_func, tir.state = {value}}}"))
    with pytest.raises(LegatoError, match=rf"func\.func: the attribute tir\.state must be a string, is {re.escape(value)}"):
        legato.Pipeline("tir-schedule{target=llvm}").run(module)


@pytest.mark.parametrize(("attribute", "message"), [
    ("axes = 3 : i64", "attribute 'axes' must be an array of strings, is 3 : i64"), ("axes = [3]", "attribute 'axes' must be an array of"),
    ('kinds = "spatial"', "attribute 'kinds' must be an array of strings"),
    ("extents = [4]", "attribute 'extents' must be an array of i64"),
])
def test_an_attribute_of_a_block_is_of_its_kind(attribute, message):
    given = {"axes": 'axes = ["v"]', "kinds": 'kinds = ["spatial"]', "extents": "extents = array<i64: 4>"}
    given[attribute.partition(" ")[0]] = attribute
    block = (f'"tir.block"(%a) ({{}}, {{\n^bb0(%i: index):\n  "tir.yield"() : () -> ()\n}})'
             f' {{{", ".join(given.values())}}} : (index) -> ()')
    with pytest.raises(LegatoError, match=message):
        Module.parse(f"func.func @f(%a: index) {{\n{block}\nreturn\n}}")


@pytest.mark.parametrize("axis", [-1, 1])
def test_a_dim_is_of_an_axis_that_is_there(axis):
    text = f"""func.func @main(%x: tensor<?xf32>) -> index {{
      %c = arith.constant {axis} : index
      %0 = tensor.dim %x, %c : tensor<?xf32>
      return %0 : index
    }}"""
    with pytest.raises(LegatoError, match=f"tensor.dim of tensor<.xf32>: the axis is {axis}, expected one from 0 to 0"):
        Module.parse(text)
    Module.parse(text.replace(f"constant {axis} ", "constant 0 "))


def test_a_declaration_without_outputs_keeps_its_results():
    module = Module.parse("func.func private @made() -> memref<4xf32>\nfunc.func @main() -> memref<4xf32> {\n"
                          "  %0 = call @made() : () -> memref<4xf32>\n  return %0 : memref<4xf32>\n}")
    legato.Pipeline("tir-drop-results").run(module)
    assert "call @made() : () -> memref<4xf32>" in str(module)



def test_an_attribute_that_the_bindings_cannot_read():
    """They raise TypeError for it."""
    with pytest.raises(LegatoError, match=r"attribute 'axes' must be a list of integers .*array<ui8: 1, 0>"):
        Module.parse('''func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = "relax.permute_dims"(%x) {axes = array<ui8: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}''')


def test_a_contraction_onto_an_argument_beside_another_op():
    """The op behind its initial value, which is none, was compared with those of the kernel."""
    module = Module.parse("""
func.func private @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32> {bufferization.writable = true, tir.out}) -> tensor<4x4xf32>
    attributes {tir.prim_func} {
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.exp ins(%x : tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.matmul ins(%1, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}""")
    legato.Pipeline("tir-prepare-contractions").run(module)
    assert "linalg.matmul" in str(module)


@pytest.mark.parametrize("callee", ["main", "part"])
def test_a_host_function_that_calls_itself(callee):
    module = Module.parse(f"""func.func private @part() {{
  call @{callee}() : () -> ()
  return
}}
func.func @main() {{
  call @part() : () -> ()
  return
}}""")
    with pytest.raises(LegatoError, match=f"@{callee} calls itself"):
        legato.Pipeline("tir-lift-globals").run(module)


def test_fewer_names_than_parameters():
    """The name of a parameter was taken from behind the list."""
    kernel = T.prim_func(half_written).module()
    text = str(kernel).replace('tir.names = ["A", "B"]', 'tir.names = ["A"]')
    assert 'tir.names = ["A"]' in text
    module = Module.parse(text)
    legato.Pipeline("tir-raise-loops,tir-init-outputs").run(module)
    assert "kernel_zeros" in str(module)


def half_written(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(4):
        B[i * 2] = A[i]
