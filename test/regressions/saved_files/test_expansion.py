"""Loops in loops are loops of main; functions that call others twice are refused before they fill the memory: the error says the count."""
import linecache
import time

import pytest
from onnx import TensorProto, helper

import legato
from legato.core.ir_helpers import find
from legato.passes.partition.inline_functions import MOST_OPS
from legato.passes.pipeline.base import PassContext
from legato.targets.catalog import Catalog

F = TensorProto.FLOAT


def imported(nodes, functions=(), initializers=(), inputs=("x",)):
    info = [helper.make_tensor_value_info(name, F, [4]) for name in (*inputs, "y")]
    graph = helper.make_graph(nodes, "g", info[:-1], info[-1:], list(initializers))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return legato.from_onnx(helper.make_model(graph, functions=list(functions), opset_imports=imports, ir_version=8))


def loop(steps, inner, output):
    """A Loop of so many steps around the nodes, which make v of u."""
    scalar = [helper.make_tensor_value_info(name, kind, []) for name, kind in ((f"i{output}", TensorProto.INT64), ("c", TensorProto.BOOL))]
    state = [helper.make_tensor_value_info(name, F, [4]) for name in (f"u{output}", f"v{output}")]
    same = helper.make_node("Identity", ["c"], [f"c{output}"])
    done = helper.make_tensor_value_info(f"c{output}", TensorProto.BOOL, [])
    body = helper.make_graph([same, *inner], "body", [*scalar, state[0]], [done, state[1]])
    return helper.make_node("Loop", [f"n{steps}", "", "x" if output == "y" else "uy"], [output], body=body)


def steps_of(*counts):
    return [helper.make_tensor(f"n{count}", TensorProto.INT64, [], [count]) for count in set(counts)]


def nested(outer, inner):
    innermost = loop(inner, [helper.make_node("Tanh", ["uvy"], ["vvy"])], "vy")
    return imported([loop(outer, [innermost], "y")], initializers=steps_of(outer, inner))


def refused(build, *words):
    begin = time.process_time()
    with pytest.raises(legato.LegatoError) as caught:
        build()
    assert time.process_time() - begin < 60
    for word in words:
        assert word in str(caught.value)


def test_nested_loops():
    """Loops of more than a few steps are loops of main, however many there are around them."""
    for outer, inner in ((1000, 1000), (20, 30)):
        found = str(nested(outer, inner))
        assert found.count("relax.tanh") == 1 and found.count("scf.for") + found.count("scf.while") == 2
    found = str(nested(3, 4))
    assert found.count("relax.tanh") == 12 and "scf." not in found


def test_a_recurrent_layer_in_a_loop():
    tensors = [helper.make_tensor(name, F, shape, [0.5] * (shape[0] * shape[1] * shape[2]))
               for name, shape in (("w", (1, 4, 4)), ("r", (1, 4, 4)))]
    shape = [helper.make_tensor("shape", TensorProto.INT64, [3], [1000, 1, 4]), helper.make_tensor("back", TensorProto.INT64, [1], [4])]
    inner = [helper.make_node("Expand", ["uy", "shape"], ["e"]), helper.make_node("RNN", ["e", "w", "r"], ["", "h"], hidden_size=4),
             helper.make_node("Reshape", ["h", "back"], ["vy"])]
    begin = time.process_time()
    found = str(imported([loop(100, inner, "y")], initializers=[*tensors, *shape, *steps_of(100)]))
    assert found.count("scf.for") + found.count("scf.while") == 2 and time.process_time() - begin < 60


def function(name, *nodes):
    return helper.make_function("own", name, ["a"], ["z"], list(nodes), [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])


def doubling(depth):
    twice = [function(f"f{i}", helper.make_node(f"f{i - 1}", ["a"], ["b"], domain="own"),
                      helper.make_node(f"f{i - 1}", ["b"], ["z"], domain="own")) for i in range(1, depth + 1)]
    return imported([helper.make_node(f"f{depth}", ["x"], ["y"], domain="own")],
                    [function("f0", helper.make_node("Tanh", ["a"], ["z"])), *twice])


def test_functions_that_double():
    refused(lambda: doubling(30), "its functions become 1,073,741,823 nodes, as each call is a copy")
    refused(lambda: doubling(200), f"{2 ** 200 - 1:,} nodes")
    assert str(doubling(6)).count("relax.tanh") == 64


def test_loops_of_functions(monkeypatch):
    """Neither alone is too much: the nodes are counted as they are imported."""
    monkeypatch.setattr("legato.frontends.onnx.expansion.MOST_NODES", 500)
    chain = function("f", *(helper.make_node("Tanh", [f"t{i}" if i else "a"], [f"t{i + 1}" if i < 99 else "z"]) for i in range(100)))
    refused(lambda: imported([loop(8, [helper.make_node("f", ["uy"], ["vy"], domain="own")], "y")], [chain], steps_of(8)),
            "its loops and functions have become 501 nodes at ")


def run(text, passes):
    module = legato.Module.parse(text)
    legato.Pipeline(passes).run(module, PassContext(resolve_target=Catalog().resolve))
    return module


def calls(depth):
    """Private graph functions, each of which calls the one before twice."""
    type_ = "tensor<4xf32>"
    texts = [f'func.func private @f0(%x: {type_}) -> {type_} {{ %0 = "relax.tanh"(%x) : ({type_}) -> {type_} return %0 : {type_} }}']
    for i in range(1, depth + 1):
        head = f"func.func @main(%x: {type_}) -> {type_}" if i == depth else f"func.func private @f{i}(%x: {type_}) -> {type_}"
        texts.append(f"{head} {{ %0 = call @f{i - 1}(%x) : ({type_}) -> {type_} %1 = call @f{i - 1}(%0) : ({type_}) -> {type_} "
                     f"return %1 : {type_} }}")
    return "\n".join(texts)


def test_inlining_graph_functions():
    refused(lambda: run(calls(30), "relax-inline"), "@main becomes ", " ops, as each call is a copy", f"{MOST_OPS:,} are the most")
    assert str(run(calls(5), "relax-inline")).count("relax.tanh") == 32


def test_functions_into_which_nothing_is_inlined(monkeypatch):
    """They may be as long as they are: only what copies add is refused."""
    monkeypatch.setattr("legato.passes.partition.inline_functions.MOST_OPS", 10)
    long = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {" + "".join(
        f' %y{i} = "relax.tanh"(%{f"y{i - 1}" if i else "x"}) : (tensor<4xf32>) -> tensor<4xf32>' for i in range(20)) + (
        " return %y19 : tensor<4xf32> }")
    for name in ("relax-inline", "relax-inline-callers"):
        assert str(run(long, name)).count("relax.tanh") == 20
    refused(lambda: run(calls(2), "relax-inline"), "@main becomes ", "10 are the most")


def script(source, name):
    names = {}
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), names)
    return names[name]


def test_graphs_of_the_script_that_double():
    def source(depth):
        text = "from legato.script import relax as R\n"
        text += '@R.function\ndef f0(x: R.Tensor((4,), "float32")):\n    return R.tanh(x)\n'
        for i in range(1, depth + 1):
            text += f'@R.function\ndef f{i}(x: R.Tensor((4,), "float32")):\n    return f{i - 1}(f{i - 1}(x))\n'
        return text

    refused(lambda: script(source(30), "f30").module(), "is the 10,001th copy of statements, as each call of a function or macro is one")
    assert str(script(source(4), "f4").module()).count("relax.tanh") == 16


def test_macros_that_double():
    def source(depth):
        text = "from legato.script import tir as T\n@T.macro\ndef f0(A):\n    A[0] = A[0] + T.float32(1)\n"
        for i in range(1, depth + 1):
            text += f"@T.macro\ndef f{i}(A):\n    f{i - 1}(A)\n    f{i - 1}(A)\n"
        return text + f'@T.prim_func\ndef kernel(A: T.Buffer((4,), "float32")):\n    f{depth}(A)\n'

    refused(lambda: script(source(30), "kernel").module(), "is the 10,001th copy of statements, as each call of a function or macro is one")
    script(source(4), "kernel").module()


def test_loops_over_tuples_in_loops_over_tuples():
    def source(count):
        return (f'from legato.script import tir as T\nALL = tuple(range({count}))\n@T.prim_func\n'
                'def kernel(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):\n'
                '    for i in ALL:\n        for j in ALL:\n            B[j] = A[i]\n')

    refused(lambda: script(source(1000), "kernel").module(), "this step of the loop is the 10,001th copy of statements")
    script(source(4), "kernel").module()


def test_unrolled_loops_in_unrolled_loops():
    def kernel(count):
        return script('from legato.script import tir as T\n@T.prim_func\ndef kernel(A: T.Buffer((4096, 4096), "float32"), '
                      'B: T.Buffer((4096, 4096), "float32")):\n'
                      f"    for i in T.unroll({count}):\n        for j in T.unroll({count}):\n            B[i, j] = A[i, j]\n", "kernel")

    refused(lambda: run(str(kernel(1000).module()), "tir-lower-loops"), "cannot be unrolled: 1,000 copies of its ", "are the most")
    run(str(kernel(8).module()), "tir-lower-loops")


def test_loops_in_unrolled_loops():
    """LLVM took minutes for them: such a loop stays a loop, with a warning."""
    module = script('from legato.script import tir as T\n@T.prim_func\ndef kernel(A: T.Buffer((16, 32, 24), "float32"), '
                    'B: T.Buffer((16, 32), "float32")):\n    for i in T.unroll(16):\n        for j in T.unroll(32):\n'
                    "            for k in T.serial(24):\n                B[i, j] = A[i, j, k]\n", "kernel").module()
    context = PassContext(Catalog())
    legato.Pipeline("tir-lower-loops").run(module, context)
    assert "the loop i of @kernel is not unrolled: the copies of its body would hold 512 loops; 128 are the most" in context.warnings
    assert len(find(module.operation, "scf.for")) == 1 + 32


@pytest.mark.parametrize("depth", [200, 1000])
def test_functions_nested_too_deep(depth):
    """Each level takes several of Python's frames: 200 ended in a RecursionError."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]

    def model(depth: int):
        bodies = [helper.make_node(f"f{n + 1}", ["a"], ["b"], domain="own") if n + 1 < depth else helper.make_node("Relu", ["a"], ["b"])
                  for n in range(depth)]
        made = [helper.make_function("own", f"f{n}", ["a"], ["b"], [body], opsets) for n, body in enumerate(bodies)]
        graph = helper.make_graph([helper.make_node("f0", ["x"], ["y"], domain="own")], "g",
                                  [helper.make_tensor_value_info("x", 1, [2])], [helper.make_tensor_value_info("y", 1, [2])])
        return helper.make_model(graph, opset_imports=opsets, functions=made, ir_version=10)

    with pytest.raises(legato.UnsupportedError, match="its functions and loops call each other more than 64 deep"):
        legato.from_onnx(model(depth))
    legato.from_onnx(model(60))
