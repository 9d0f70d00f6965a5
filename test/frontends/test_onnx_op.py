"""``@legato.onnx_op``: an import for an op of a domain of one's own, and what is said when it fails."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import legato
from legato.dialects import relax
from legato.frontends.onnx.registry import isolated

X = np.array([[1.0, -2.0, 3.0]], np.float32)


@pytest.fixture(autouse=True)
def registry():
    with isolated():
        yield


def model(version=1, op_type="FusedNorm", **attributes):
    node = helper.make_node(op_type, ["x"], ["y"], name="/block/norm", domain="acme", **attributes)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, X.shape) for name in "xy"]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("acme", version)], ir_version=10)


def run(proto):
    return np.asarray(legato.compile(legato.from_onnx(proto))(X))


def test_it_is_imported():
    @legato.onnx_op("acme", "FusedNorm", since=1)
    def fused_norm(node):
        return relax.multiply(node.x(), node.literal(node.number("scale", 2.0), node.dtype()))

    np.testing.assert_array_equal(run(model()), X * 2)
    np.testing.assert_array_equal(run(model(scale=3.0)), X * 3)
    np.testing.assert_array_equal(run(model(version=7)), X * 2)
    assert callable(fused_norm)


def test_the_newest_that_is_not_newer_than_the_model():
    @legato.onnx_op("acme", "FusedNorm", since=2)
    def second(node):
        return relax.negative(node.x())

    with pytest.raises(legato.UnsupportedError, match="version 1 of this op is not supported, only 2 and newer"):
        run(model(version=1))

    @legato.onnx_op("acme", "FusedNorm", since=5)
    def fifth(node):
        return relax.abs(node.x())

    np.testing.assert_array_equal(run(model(version=4)), -X)
    np.testing.assert_array_equal(run(model(version=5)), abs(X))


def test_defined_again_it_replaces_itself():
    for build in (relax.negative, relax.abs):
        legato.onnx_op("acme", "FusedNorm")(lambda node, build=build: build(node.x()))
    np.testing.assert_array_equal(run(model()), abs(X))


def test_an_unknown_op_says_how_to_register_it():
    with pytest.raises(legato.UnsupportedError, match=r"/block/norm \(acme.FusedNorm, opset 1\).*@legato.onnx_op\('acme', 'FusedNorm'\)"):
        run(model())


def fails(function, error, text):
    legato.onnx_op("acme", "FusedNorm")(function)
    with pytest.raises(error, match=text) as caught:
        run(model(scale=1.0))
    assert "/block/norm (acme.FusedNorm, opset 1)" in str(caught.value)
    return caught.value


def test_what_fails_names_the_node():
    fails(lambda node: legato.Refusal("no scale"), legato.UnsupportedError, "no scale")
    fails(lambda node: relax.abs(node.x()), legato.UnsupportedError, "attribute 'scale' of FusedNorm is not supported")
    fails(lambda node: node.number("scale") and None, legato.LegatoError, "its import <lambda> returned nothing")
    fails(lambda node: relax.abs(node.x(1)), legato.LegatoError, "it needs an input 1")
    fails(lambda node: (node.number("scale"), node.x(), "text")[2], legato.LegatoError, "returned a str")
    fails(lambda node: relax.matmul(node.x(), node.literal(np.ones((4, 4)), "float32")), legato.LegatoError, "inner sizes differ")


def test_an_exception_is_shown_with_its_line():
    def wrong(node):
        return {}["scale"]

    error = fails(wrong, legato.LegatoError, r"its import raised KeyError: 'scale' \(at frontends/test_onnx_op.py:\d+ in wrong\)")
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize(("arguments", "text"), [
    (("acme", "", 1), "wants the domain and the name"), (("acme", 3, 1), "wants the domain and the name"),
    (("acme", "Op", 0), "since is the version"), (("acme", "Op", True), "since is the version"),
])  # fmt: skip
def test_wrong_registrations(arguments, text):
    domain, op_type, since = arguments
    with pytest.raises(legato.LegatoError, match=text):
        legato.onnx_op(domain, op_type, since=since)


def test_what_is_no_function():
    with pytest.raises(legato.LegatoError, match="decorates a function of a node, not int"):
        legato.onnx_op("acme", "FusedNorm")(3)


def test_registrations_end_with_their_context():
    with isolated():
        legato.onnx_op("acme", "FusedNorm")(lambda node: relax.abs(node.x()))
        np.testing.assert_array_equal(run(model()), abs(X))
    with pytest.raises(legato.UnsupportedError):
        run(model())
