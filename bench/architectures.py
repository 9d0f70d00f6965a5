"""Architectures of transformers, tiny and with random weights, against PyTorch: ``python -m bench.architectures [NAME...]``.

One line per architecture and way: ``static`` and ``dynamic`` by ``legato.from_torch`` (dynamic: batch and, for text, length; called with
other sizes than the example's), ``compile`` by ``torch.compile(backend="legato")``, ``script`` by torch's older exporter, TorchScript, with
dynamic sizes. The error is max|a-b| / max|b| over all outputs. Needs the package transformers.
"""

import argparse
import io
import time
import warnings
from collections.abc import Iterator
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
import transformers  # pyright: ignore[reportMissingImports]

import legato

TEXT = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "max_position_embeddings": 64,
}
DECODER = {**TEXT, "num_key_value_heads": 2, "head_dim": 8, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SEQ2SEQ = {
    "vocab_size": 99,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 37,
    "decoder_ffn_dim": 37,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "decoder_start_token_id": 1,
}
VIT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "image_size": 32, "patch_size": 8}
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {  # model type: kind of input, configuration
    "bert": ("text", TEXT),
    "roberta": ("text", TEXT),
    "electra": ("text", {**TEXT, "embedding_size": 16}),
    "ernie": ("text", TEXT),
    "distilbert": ("text", {"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 37, "max_position_embeddings": 64}),
    "albert": ("text", {**TEXT, "embedding_size": 16}),
    "camembert": ("text", TEXT),
    "xlm-roberta": ("text", TEXT),
    "roformer": ("text", TEXT),
    "mpnet": ("text", TEXT),
    "deberta-v2": ("text", TEXT),
    "convbert": ("text", {**TEXT, "embedding_size": 16}),
    "squeezebert": ("text", {**TEXT, "embedding_size": 32}),
    "mobilebert": ("text", {**TEXT, "embedding_size": 16, "intra_bottleneck_size": 32}),
    "layoutlm": ("text", TEXT),
    "modernbert": ("text", TEXT),
    "gpt2": ("text", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}),
    "gpt_neox": ("text", TEXT),
    "opt": (
        "text",
        {
            "vocab_size": 99,
            "hidden_size": 32,
            "word_embed_proj_dim": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 37,
            "max_position_embeddings": 64,
        },
    ),
    "bloom": ("text", {"vocab_size": 99, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "gptj": ("text", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4}),
    "llama": ("text", DECODER),
    "mistral": ("text", DECODER),
    "qwen2": ("text", DECODER),
    "qwen3": ("text", DECODER),
    "gemma": ("text", DECODER),
    "gemma2": ("text", DECODER),
    "phi": ("text", {k: v for k, v in DECODER.items() if k != "head_dim"}),
    "phi3": ("text", {k: v for k, v in DECODER.items() if k != "head_dim"}),
    "olmo": ("text", DECODER),
    "granite": ("text", DECODER),
    "stablelm": ("text", DECODER),
    "starcoder2": ("text", DECODER),
    "cohere": ("text", DECODER),
    "t5": (
        "seq2seq",
        {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    ),
    "mt5": (
        "seq2seq",
        {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    ),
    "bart": ("seq2seq", SEQ2SEQ),
    "mbart": ("seq2seq", SEQ2SEQ),
    "marian": ("seq2seq", SEQ2SEQ),
    "pegasus": ("seq2seq", SEQ2SEQ),
    "whisper": ("audio", {**SEQ2SEQ, "max_source_positions": 20, "max_target_positions": 20, "num_mel_bins": 16}),
    "vit": ("image", VIT),
    "deit": ("image", VIT),
    "beit": ("image", VIT),
    "dinov2": ("image", VIT),
    "ijepa": ("image", VIT),
    "swin": ("image", {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4}),
    "convnext": ("image", {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "image_size": 32}),
    "convnextv2": ("image", {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "image_size": 32}),
    "resnet": ("image", {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]}),
    "regnet": ("image", {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "groups_width": 4}),
    "mobilenet_v1": ("image", {"image_size": 32, "depth_multiplier": 0.25}),
    "mobilenet_v2": ("image", {"image_size": 32, "depth_multiplier": 0.25}),
    "efficientnet": ("image", {"image_size": 32, "width_coefficient": 0.25, "depth_coefficient": 0.25}),
    "segformer": (
        "image",
        {
            "hidden_sizes": [8, 16],
            "depths": [1, 1],
            "num_encoder_blocks": 2,
            "num_attention_heads": [1, 2],
            "sr_ratios": [2, 1],
            "patch_sizes": [7, 3],
            "strides": [4, 2],
            "mlp_ratios": [2, 2],
            "decoder_hidden_size": 16,
        },
    ),
    "poolformer": (
        "image",
        {"hidden_sizes": [8, 16], "depths": [1, 1], "num_encoder_blocks": 2, "patch_sizes": [7, 3], "strides": [4, 2], "padding": [2, 1]},
    ),
    "levit": ("image", {"image_size": 64}),
    "cvt": ("image", {"embed_dim": [16, 16, 16], "num_heads": [1, 2, 2], "depth": [1, 1, 1]}),
    "mobilevit": ("image", {"image_size": 32}),
    "pvt": ("image", {"image_size": 32, "hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1]}),
    "focalnet": ("image", {"image_size": 32, "embed_dim": 16, "depths": [1, 1]}),
    "yolos": ("image", {**VIT, "image_size": [32, 32], "num_detection_tokens": 4}),
    "clip": ("pair", {"text_config": {**TEXT, "bos_token_id": 1, "eos_token_id": 2}, "vision_config": VIT, "projection_dim": 16}),
    "wav2vec2": (
        "wave",
        {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 37,
            "conv_dim": [16, 16],
            "conv_stride": [5, 2],
            "conv_kernel": [10, 3],
            "num_feat_extract_layers": 2,
            "num_conv_pos_embeddings": 16,
            "num_conv_pos_embedding_groups": 2,
        },
    ),
}
WAYS = ("static", "dynamic", "compile", "script")


def inputs(kind: str, size: int, length: int) -> dict[str, torch.Tensor]:
    """Arguments for a batch of a size; ``length`` is that of text."""
    ids = torch.randint(3, 99, (size, length))
    text = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return {
        "text": text,
        "seq2seq": {**text, "decoder_input_ids": torch.randint(3, 99, (size, length - 2))},
        "image": {"pixel_values": torch.randn(size, 3, 64, 64)},
        "audio": {"input_features": torch.randn(size, 16, 40), "decoder_input_ids": torch.randint(3, 99, (size, length))},
        "pair": {"input_ids": ids, "pixel_values": torch.randn(size, 3, 32, 32), "attention_mask": torch.ones_like(ids)},
        "wave": {"input_values": torch.randn(size, 400)},
    }[kind]


class Tensors(torch.nn.Module):
    """A model whose result is the tuple of its tensors, by named arguments."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The tensors of the result that no cache holds."""
        result = self.model(
            **dict(zip(self.names, values)), **({"use_cache": False} if "input_ids" in self.names or len(self.names) > 1 else {})
        )
        return tuple(value for value in result.to_tuple() if isinstance(value, torch.Tensor))


def error(given: Any, expected: Any) -> float:
    """The largest difference relative to the largest value."""
    given = given if isinstance(given, tuple) else (given,)
    worst = 0.0
    for ours, theirs in zip(given, expected, strict=True):
        if tuple(ours.shape) != tuple(theirs.shape):
            raise AssertionError(f"the shape is {tuple(ours.shape)}, not {tuple(theirs.shape)}")
        worst = max(worst, float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-6)))
    return worst


def attempt(name: str, way: str) -> Iterator[float]:
    """The errors of calls of one architecture in one way."""
    kind, options = ARCHITECTURES[name]
    torch.manual_seed(0)
    image = 64 if name == "levit" else options.get("image_size", 64)
    example = inputs(kind, 2, 7)
    if kind == "image":
        size = image if isinstance(image, int) else image[0]
        example = {"pixel_values": torch.randn(2, 3, size, size)}
    base = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(name, **options)).eval()
    model = Tensors(base, list(example)).eval()
    others = [tuple(example.values())]
    if way != "static":
        more = (
            [inputs(kind, 3, 11), inputs(kind, 5, 9)]
            if kind != "image"
            else [{"pixel_values": torch.randn(n, *example["pixel_values"].shape[1:])} for n in (3, 5)]
        )
        others += [tuple(values.values()) for values in more]
    args = others[0]
    axes = tuple(
        {0: "batch", **({1: "decoded" if "decoder" in key else "length"} if key.endswith(("ids", "mask")) else {})} for key in example
    )
    if way == "compile":
        torch._dynamo.reset()
        call = torch.compile(model, backend="legato")
    elif way == "script":
        file = io.BytesIO()
        torch.onnx.export(
            model, args, file, dynamo=False, input_names=list(example), dynamic_axes=dict(zip(example, axes)), opset_version=17
        )
        call = legato.compile(legato.from_onnx(file.getvalue()))
    else:
        call = legato.compile(legato.from_torch(model, args, dynamic_shapes=(axes,) if way == "dynamic" else None))
    for values in others:
        yield error(call(*values), model(*values))


def main() -> None:
    """Prints a line for each architecture and way, and how many of each way ran."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="model types of transformers; all by default")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if "legato" not in torch._dynamo.list_backends():  # the package is not installed
        from legato.torch_backend import torch_backend

        torch._dynamo.backends.registry.register_backend(torch_backend, name="legato")
    ran = dict.fromkeys(arguments.ways, 0)
    names = arguments.names or list(ARCHITECTURES)
    for name in names:
        for way in arguments.ways:
            started = time.perf_counter()
            try:
                with torch.no_grad():
                    worst = max(attempt(name, way))
                text = f"{worst:.1e}" + ("" if worst < 1e-3 else "  WRONG")
                ran[way] += worst < 1e-3
            except Exception as reason:
                text = f"{type(reason).__name__}: {' '.join(str(reason).split())[:300]}"
            print(f"{name:16} {way:8} {time.perf_counter() - started:6.1f} s  {text}", flush=True)
    print(", ".join(f"{way}: {count} of {len(names)}" for way, count in ran.items()))


if __name__ == "__main__":
    main()
