"""compile_torch: modules called as they are, with results in their own structure, against PyTorch itself."""
from dataclasses import dataclass

import pytest

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
tree = torch.utils._pytree


@dataclass
class Scores:
    logits: torch.Tensor
    parts: tuple


torch.export.register_dataclass(Scores, serialized_type_name="test_torch_module.Scores")


class Nested(torch.nn.Module):
    """Arguments by position and keyword, in dicts and lists, and a number and a text; a result of a dict, a dataclass, tuples, None, an
    argument, a number, a text and a size."""

    def forward(self, x, scale=2.0, mode="plain", *, extra, skipped=None):
        y = x * scale + extra["bias"] - extra["more"][0]
        y = -y if mode == "negated" else y
        return {"scores": Scores(y, (x, [y.sum(0), None])), "bias": extra["bias"], "again": y, "about": (3, mode, 2 * x.shape[0])}


def call(size):
    return (torch.randn(size, 3), 3.0), {"mode": "negated", "extra": {"bias": torch.randn(3), "more": [torch.randn(size, 3)]}}


def same(found, expected):
    assert tree.tree_structure(found) == tree.tree_structure(expected)
    for ours, theirs in zip(tree.tree_leaves(found), tree.tree_leaves(expected), strict=True):
        if not isinstance(theirs, torch.Tensor):
            assert ours == theirs and type(ours) is type(theirs)
        else:
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def nested():
    args, kwargs = call(2)
    shapes = {"x": {0: "n"}, "scale": None, "mode": None, "extra": {"bias": None, "more": [{0: "n"}]}}
    return legato.compile_torch(Nested().eval(), args, kwargs, dynamic_shapes=shapes)


def test_nested_structures(nested):
    for size in (2, 5, 1):
        args, kwargs = call(size)
        same(nested(*args, **kwargs), Nested()(*args, **kwargs))
    x, scale = args
    same(nested(x=x.T.contiguous().T, scale=scale, skipped=None, **dict(reversed(kwargs.items()))), Nested()(x, scale, **kwargs))
    kwargs["extra"] = dict(reversed(kwargs["extra"].items()))
    same(nested(*args, **kwargs), Nested()(*args, **kwargs))
    assert isinstance(nested(*args, **kwargs)["scores"], Scores)
    assert "Nested, <legato.Executable main(x: float32[n, 3]" in repr(nested) and nested.executable.inputs[0].name == "x"


@pytest.mark.parametrize("change, message", [
    (lambda args, kwargs: (args[:1], kwargs), "the argument args.1. is 2.0, and the import has fixed it to 3.0"),
    (lambda args, kwargs: (args, {**kwargs, "mode": "plain"}), "the argument kwargs.'mode'. is 'plain', and the import has fixed it to"),
    (lambda args, kwargs: (args, {**kwargs, "extra": {"bias": args[0]}}), "another structure: args.0., args.1., kwargs.'mode'.,"),
    (lambda args, kwargs: ((1, 3.0), kwargs), "imported with a tensor where this call has int 1"),
    (lambda args, kwargs: ((None, 3.0), kwargs), "imported with a tensor where this call has NoneType None"),
    (lambda args, kwargs: ((args[0].to_sparse(), 3.0), kwargs), "takes dense tensors, and this call has one with torch.sparse_coo"),
    (lambda args, kwargs: ((args[0] * 1j, 3.0), kwargs), "a tensor of real numbers where this call has one of torch.complex64"),
    (lambda args, kwargs: (args, {**kwargs, "skipped": args[0]}), "imported without the argument 'skipped'"),
    (lambda args, kwargs: ((), {}), "missing a required argument: 'x'"),
    (lambda args, kwargs: (args, {**kwargs, "other": 1}), "unexpected keyword argument 'other'")], ids=str)
def test_refusals(nested, change, message):
    args, kwargs = change(*call(2))
    with pytest.raises(legato.LegatoError, match=message):
        nested(*args, **kwargs)


def test_a_program_and_settings():
    model = torch.nn.Linear(3, 4).eval()
    x = torch.randn(2, 3)
    program = torch.export.export(model, (x,))
    found = legato.compile_torch(program, target="llvm{threads=2}")
    with torch.no_grad():
        same(found(x), model(x))


def test_a_result_of_transformers():
    """A class of its own, with a cache inside, and arguments by keyword."""
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=4, n_positions=32, bos_token_id=1, eos_token_id=1)
    model = transformers.GPT2Model(config).eval()
    ids = torch.randint(50, (2, 7))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    found = legato.compile_torch(model, kwargs=given)(**given)
    with torch.no_grad():
        expected = model(**given)
    assert type(found) is type(expected) and list(found) == list(expected)
    torch.testing.assert_close(found.last_hidden_state, expected.last_hidden_state, rtol=1e-4, atol=1e-4)
    for ours, theirs in zip(found.past_key_values.layers, expected.past_key_values.layers, strict=True):
        torch.testing.assert_close(ours.keys, theirs.keys, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(ours.values, theirs.values, rtol=1e-4, atol=1e-4)


class Spectrum(torch.nn.Module):
    """Any number of arguments; complex arguments and results, of which one is an argument."""

    def forward(self, *signals, **by):
        return torch.fft.fft(signals[0]) * by["a"] - by["b"], signals[1], by["a"].abs()


def test_complex_numbers():
    signals = torch.randn(2, 4), torch.randn(4, 2, dtype=torch.complex64).mH
    by = {"a": torch.randn(2, 4, dtype=torch.complex64), "b": torch.randn(4, dtype=torch.complex64)}
    compiled = legato.compile_torch(Spectrum().eval(), signals, by)
    for given in by, {"b": by["b"].conj(), "a": by["a"]}:
        same(compiled(*signals, **given), Spectrum()(*signals, **given))
    with pytest.raises(legato.LegatoError, match="a tensor of complex numbers where this call has one"):
        compiled(signals[0], signals[0], **by)


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3))

    def forward(self, factor):
        return self.weight * factor


def test_results_of_a_module_without_tensors_as_arguments_are_tensors():
    for dtype in (torch.float32, torch.bfloat16):
        model = Scaled().eval().to(dtype)
        torch.testing.assert_close(legato.compile_torch(model, (3,))(3), model(3).detach())
