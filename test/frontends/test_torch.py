"""from_torch: hand-written modules against PyTorch itself, what their names, weights and shapes become, and what is refused."""
import re
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
nn = torch.nn

# of f64: epsilons are f32 in ONNX
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def flat(result):
    """The tensors of a result, in order."""
    return [leaf for leaf in torch.utils._pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def compare(exe, model, *args, **kwargs):
    """The compiled model on torch tensors, against the module."""
    with torch.no_grad():
        expected = flat(model(*args, **kwargs))
    given = exe(*flat((args, kwargs)))
    given = given if isinstance(given, tuple) else (given,)
    assert len(given) == len(expected)
    for ours, theirs in zip(given, expected):
        assert isinstance(ours, torch.Tensor) and ours.dtype == theirs.dtype and ours.shape == theirs.shape
        if theirs.is_floating_point():
            tolerance = TOLERANCE[theirs.dtype]
            torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * max(1.0, theirs.abs().max().item()))
        else:
            torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


class Encoder(nn.Module):
    """Embeddings whose weight is that of the head, a buffer of positions that is sliced, and a result of a dict and a tuple."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(50, 32)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(32, 4, 64, batch_first=True) for _ in range(2)])
        self.head = nn.Linear(32, 50, bias=False)
        self.head.weight = self.tokens.weight
        self.register_buffer("positions", torch.randn(16, 32))

    def forward(self, ids, scale=None, *, pooled=False):
        x = self.tokens(ids) + self.positions[: ids.shape[1]]
        x = x if scale is None else x * scale
        for layer in self.layers:
            x = layer(x)
        return {"logits": self.head(x), "hidden": (x, x.mean(1)) if pooled else (x,)}


class Vision(nn.Module):
    """Convolutions, batch normalization, pooling."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, 1, 1, groups=4),
                                      nn.MaxPool2d(2))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(nn.functional.adaptive_avg_pool2d(self.features(x), 1).flatten(1)).softmax(-1)


@dataclass
class Answer:
    mean: torch.Tensor
    index: torch.Tensor


torch.export.register_dataclass(Answer, serialized_type_name="test_torch.Answer")


class Structured(nn.Module):
    """Dicts and lists in, a dataclass out, integers among the results."""

    def forward(self, parts, factor: float = 2.0):
        x = parts["items"][0] * factor + parts["items"][1]
        return Answer(x.mean(-1), x.argmax(-1)), x > 0


class Sums(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y], 1).cumsum(1), x @ x.mT


def randn(*sizes, dtype=torch.float32):
    return torch.randn(*sizes, dtype=dtype)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_an_encoder_of_dynamic_batch_and_length():
    model = Encoder().eval()
    shapes = {"ids": {0: "batch", 1: "seq"}, "pooled": None}
    module = legato.from_torch(model, (torch.randint(50, (2, 7)),), {"pooled": True}, dynamic_shapes=shapes)
    exe = legato.compile(module)
    assert [str(p) for p in exe.inputs] == ["int64[batch, seq]"]
    assert [p.name for p in exe.outputs] == ["logits", "hidden.0", "hidden.1"]
    for batch, length in ((2, 7), (1, 1), (3, 16)):
        compare(exe, model, torch.randint(50, (batch, length)), pooled=True)
    with pytest.raises(ValueError, match="seq <= 16"):
        exe(torch.zeros(1, 17, dtype=torch.int64))
    assert "layers.1.self_attn" in str(exe.explain()) and "tokens/embedding" in str(exe.explain())
    assert "layers.0.linear1/linear" in str(legato.profile(exe, torch.randint(50, (2, 7)), runs=1))


def test_weights_are_shared():
    model = Encoder().eval()
    module = legato.from_torch(model, (torch.randint(50, (2, 7)),))
    memory = {t.data_ptr(): name for name, t in [*model.named_parameters(), *model.named_buffers()]}
    large = {k: array for k, array in module.weights.items() if array.nbytes > 1024}
    assert len(large) == 10 and all(array.ctypes.data in memory for array in large.values())   # tied weights are one


def test_a_weight_that_is_not_contiguous_is_copied():
    model = nn.Linear(40, 30).eval()
    model.weight = nn.Parameter(torch.randn(40, 30).T)
    compare(legato.compile(legato.from_torch(model, (randn(2, 40),))), model, randn(2, 40))


def test_convolutions_by_a_program_of_torch_export():
    model, batch = Vision().eval(), torch.export.Dim("n")
    program = torch.export.export(model, (randn(2, 3, 16, 16),), dynamic_shapes=({0: batch},))
    exe = legato.compile(legato.from_torch(program))
    for n in (2, 1, 5):
        compare(exe, model, randn(n, 3, 16, 16))
    assert "features.3/conv2d_1" in str(exe.explain())
    with pytest.raises(legato.LegatoError, match="the program of Vision has been exported with its arguments"):
        legato.from_torch(program, (randn(2, 3, 16, 16),))


def test_the_module_of_a_program_is_in_no_mode(recwarn):
    """torch says of it that it trains, and refuses its eval(); its graph keeps the mode of the export."""
    class Regular(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Linear(4, 3), nn.Dropout(), nn.BatchNorm1d(3))

    shapes = ({0: torch.export.Dim("n", max=9)},)
    model = Regular().eval()
    exe = legato.compile(legato.from_torch(torch.export.export(model, (randn(2, 4),), dynamic_shapes=shapes).module(), (randn(2, 4),),
                                           dynamic_shapes=({0: "n"},)))
    for rows in (2, 1, 9):
        compare(exe, model, randn(rows, 4))
    with pytest.raises(ValueError, match="n <= 9"):
        exe(randn(10, 4))
    assert not [one for one in recwarn if "training mode" in str(one.message)]
    trains = torch.export.export(Regular().train(), (randn(2, 4),)).module()
    with pytest.raises(legato.LegatoError, match=r"(?s)dropout|writes to the buffer"):
        legato.from_torch(trains, (randn(2, 4),))


def test_trees_of_arguments_and_results():
    model = Structured().eval()
    exe = legato.compile(legato.from_torch(model, ({"items": [randn(2, 3), randn(3)]}, 1.5)))
    assert [p.name for p in exe.outputs][:2] == ["0.mean", "0.index"]
    args = {"items": [randn(2, 3), randn(3)]}
    compare(exe, lambda x: model(x, 1.5), args)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_element_types(dtype):
    model = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 8)).to(dtype).eval()
    exe = legato.compile(legato.from_torch(model, (randn(4, 24, dtype=dtype),)))
    compare(exe, model, randn(4, 24, dtype=dtype))


def test_automatic_dynamic_sizes():
    model, auto = Sums().eval(), torch.export.Dim.AUTO
    args, shapes = (randn(2, 3, 4), randn(2, 5, 4)), ({0: auto, 1: auto}, {0: auto, 1: auto})
    exe = legato.compile(legato.from_torch(model, args, dynamic_shapes=shapes))
    for n, a, b in ((2, 3, 5), (1, 1, 4), (4, 7, 2)):
        compare(exe, model, randn(n, a, 4), randn(n, b, 4))


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU])
def test_recurrent(cell):
    model = cell(6, 8, num_layers=2, batch_first=True, bidirectional=True).eval()
    compare(legato.compile(legato.from_torch(model, (randn(2, 5, 6),))), model, randn(2, 5, 6))


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count += 1
        return x * self.count


class WritesInput(nn.Module):
    def forward(self, x):
        return x.add_(1) * 2


class Statistics(nn.Module):
    def forward(self, x):
        return torch.native_batch_norm(x, None, None, x[0], x[1], False, 0.1, 1e-5)


class Factors(nn.Module):
    def forward(self, x):
        return torch.linalg.svd(x)


class Branches(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Fixed(nn.Module):
    def forward(self, x):
        return x + torch.ones(4, 3)


def test_a_named_size_that_the_module_fixes():
    with pytest.raises(legato.LegatoError, match=r"(?s)torch cannot export Fixed.*static shape of 4 for dimension inputs\[('x'|0)\]"):
        legato.from_torch(Fixed().eval(), (randn(4, 3),), dynamic_shapes=({0: "batch"},))


def test_refusals():
    x = randn(2, 3)
    half_training = nn.Sequential(nn.Linear(3, 3), nn.Dropout()).eval()
    half_training[1].train()
    for model, args, error, text in (
        (nn.Linear(3, 3), (x,), legato.LegatoError, "Linear cannot be imported: it is in training mode.*eval()"),
        (half_training, (x,), legato.LegatoError, "Sequential cannot be imported: its module '1' is in training mode"),
        (nn.Linear(3, 3).eval(), (x.clone().requires_grad_(),), legato.LegatoError, r"args\[0\] asks for gradients"),
        (nn.Linear(3, 3).eval(), x, TypeError, "args is a tuple"),
        (np.tanh, (x,), TypeError, "from_torch takes a torch.nn.Module"),
        (Writes().eval(), (x,), legato.LegatoError, "Writes writes to the buffer 'count'"),
        (WritesInput().eval(), (x,), legato.LegatoError, "WritesInput writes to the input 'x'"),
        (Branches().eval(), (x,), legato.LegatoError, "torch cannot export Branches"),
        (nn.Sequential(Factors()).eval(), (x,), legato.LegatoError, r"no translation of '0/_linalg_svd' \(aten._linalg_svd.default\)"),
        (Statistics().eval(), (x,), legato.LegatoError, r"makes an output 'getitem_1' of the sizes \[3\], which is \[0\]"),
        (nn.Linear(3, 3).eval(), (), legato.LegatoError, "torch cannot export Linear.*missing a required argument"),
    ):
        with pytest.raises(error, match=f"(?s){text}"):
            legato.from_torch(model, args)


@pytest.mark.parametrize("package", ["torch", "onnxscript"])
def test_without_torch_the_error_names_the_extra(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(legato.LegatoError, match=r"is not installed: pip install 'legato\[torch\]'"):
        legato.from_torch(nn.Linear(3, 3).eval(), (randn(2, 3),))


def test_the_page_runs(capsys):
    registry, backend = torch._dynamo.backends.registry, import_module("legato.torch_backend").torch_backend
    if "legato" not in torch._dynamo.list_backends():   # the package is not installed
        registry.register_backend(backend, name="legato")
    page, names = (Path(__file__).parents[2] / "docs" / "torch.md").read_text(), {"__name__": "torch_page"}
    for code in re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(compile(code, "torch.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "(logits: float32[batch, seq, 9], hidden: float32[batch, seq, 64])" in printed and "encoder.linear1/linear" in printed


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_cache_of_transformers_as_argument_and_result(dtype):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 37}
    config = transformers.LlamaConfig(vocab_size=50, num_hidden_layers=1, max_position_embeddings=64, **sizes)
    model = transformers.LlamaForCausalLM(config).eval().to(dtype)

    def arguments(batch, past, count):
        cache = transformers.DynamicCache(config=config)
        cache.update(randn(batch, 2, past, 8, dtype=dtype), randn(batch, 2, past, 8, dtype=dtype), 0)
        return {"input_ids": torch.randint(50, (batch, count)), "past_key_values": cache,
                "attention_mask": torch.ones(batch, past + count, dtype=torch.int64)}

    part = {0: "batch", 2: "past"}
    shapes = {"input_ids": {0: "batch", 1: "seq"}, "past_key_values": [[part], [part]], "attention_mask": {0: "batch", 1: "total"}}
    exe = legato.compile(legato.from_torch(model, (), arguments(2, 5, 3), dynamic_shapes=shapes))
    with torch.no_grad():
        field = list(model(**arguments(2, 5, 3)).keys())[1]     # of the cache, whose name differs between versions of transformers
    assert [p.name for p in exe.outputs] == ["logits", f"{field}.key_cache.0", f"{field}.value_cache.0"]
    for batch, past, count in ((2, 5, 3), (3, 7, 1), (1, 1, 4)):
        given = arguments(batch, past, count)
        tensors = flat(given)   # before the call, which makes the cache longer
        with torch.no_grad():
            expected = flat(model(**given))
        for ours, theirs in zip(exe(*tensors), expected, strict=True):
            tolerance = TOLERANCE[dtype]
            torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * max(1.0, theirs.abs().max().item()))


def test_the_caches_of_an_encoder_and_decoder_as_argument_and_result():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=50, d_model=32, d_kv=8, d_ff=37, num_layers=1, num_heads=4, decoder_start_token_id=0)).eval()

    def arguments(batch, length, past, count):
        own, across = transformers.DynamicCache(), transformers.DynamicCache()
        own.update(randn(batch, 4, past, 8), randn(batch, 4, past, 8), 0)
        across.update(randn(batch, 4, length, 8), randn(batch, 4, length, 8), 0)
        return {"encoder_outputs": (randn(batch, length, 32),), "attention_mask": torch.ones(batch, length, dtype=torch.int64),
                "decoder_input_ids": torch.randint(50, (batch, count)), "past_key_values": transformers.EncoderDecoderCache(own, across)}

    part, whole = {0: "batch", 2: "past"}, {0: "batch", 2: "length"}
    step = legato.compile_torch(model, kwargs=arguments(2, 9, 5, 3), dynamic_shapes={
        "encoder_outputs": ({0: "batch", 1: "length"},), "attention_mask": {0: "batch", 1: "length"},
        "decoder_input_ids": {0: "batch", 1: "count"}, "past_key_values": [[[part], [part]], [[whole], [whole]]]})
    for sizes in ((3, 7, 4, 1), (1, 1, 1, 4)):
        given = arguments(*sizes)
        ours = step(**given)
        again = step(**(given | {"past_key_values": ours.past_key_values}))
        with torch.no_grad():
            theirs = model(**given)   # which makes the cache longer
            torch.testing.assert_close(ours.logits, theirs.logits, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(again.logits, model(**given).logits, rtol=1e-4, atol=1e-4)
        assert isinstance(again.past_key_values, transformers.EncoderDecoderCache)
        assert again.past_key_values.get_seq_length() == theirs.past_key_values.get_seq_length()


def test_a_full_window_of_a_cache_needs_the_positions():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.MistralConfig(vocab_size=50, num_hidden_layers=1, hidden_size=32, num_attention_heads=4, num_key_value_heads=2,
                                        head_dim=8, intermediate_size=37, sliding_window=6)
    model = transformers.MistralForCausalLM(config).eval()

    def arguments(past, count):
        cache = transformers.DynamicCache(config=config)
        for _ in range(past):
            cache.update(randn(1, 2, 1, 8), randn(1, 2, 1, 8), 0)
        return {"input_ids": torch.randint(50, (1, count)), "past_key_values": cache}

    shapes = {"input_ids": {1: "count"}, "past_key_values": [[{2: "past"}], [{2: "past"}]]}
    step = legato.compile_torch(model, kwargs=arguments(3, 2), dynamic_shapes=shapes)
    given = arguments(2, 2)
    after = step(**given).past_key_values
    with torch.no_grad():
        model(**given)                # 4 tokens seen
        wanted = model(torch.tensor([[7, 8]]), past_key_values=given["past_key_values"]).logits
    ours = step(input_ids=torch.tensor([[7, 8]]), past_key_values=after)
    torch.testing.assert_close(ours.logits, wanted, rtol=1e-4, atol=1e-4)
    for cache in (ours.past_key_values, arguments(9, 1)["past_key_values"]):
        with pytest.raises(legato.LegatoError, match=r"keeps 5 tokens, in a window of 6, .*: import the module with position_ids"):
            step(input_ids=torch.tensor([[7]]), past_key_values=cache)


def test_caches_of_recurrent_layers_are_refused():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    model = transformers.MambaForCausalLM(transformers.MambaConfig(vocab_size=50, hidden_size=16, state_size=4, num_hidden_layers=1)).eval()
    given = {"input_ids": torch.randint(50, (2, 5))}
    with pytest.raises(legato.LegatoError, match=r"a cache with a LinearAttentionLayer is not supported.*: give use_cache=False"):
        legato.from_torch(model, (), given)
    assert [one.name for one in legato.compile(legato.from_torch(model, (), given | {"use_cache": False})).outputs] == ["logits"]
