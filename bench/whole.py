"""Writes the models that are compared with other engines, in their real sizes: ``python -m bench.whole DIRECTORY [NAME...]``.

Exported by PyTorch, with random weights, one image or text each; ``NAME.npz`` beside a model has its inputs. Names that end in ``-int8``
are quantized by onnxruntime: weights by channel, products and convolutions between QuantizeLinear and DequantizeLinear. Then:
``python -m bench.peers DIRECTORY/*.onnx``. Needs torch, torchvision and transformers, and onnxruntime for ``-int8``.
"""
import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
import torchvision  # pyright: ignore[reportMissingImports]
import transformers  # pyright: ignore[reportMissingImports]

Tensors = tuple[torch.Tensor, ...]
SIDE, TOKENS, VOCABULARY = 224, 128, 30522    # the vocabulary is the smallest of the models'
IMAGES = ("resnet18", "resnet50", "mobilenet_v2", "convnext_tiny", "vit_b_16")
INT8 = ("resnet50-int8", "bert-int8")


class Part(torch.nn.Module):
    """A model of transformers as one of tensors: tuples of results, without caches."""

    def __init__(self, model: torch.nn.Module, **fixed: object) -> None:
        super().__init__()
        self.model, self.fixed = model, fixed

    def forward(self, *arguments: torch.Tensor) -> torch.Tensor:
        """The first result."""
        return self.model(*arguments, **self.fixed, return_dict=False)[0]


def _image(name: str) -> tuple[torch.nn.Module, Tensors]:
    return torchvision.models.get_model(name, weights=None), (torch.randn(1, 3, SIDE, SIDE),)


def _tokens() -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (1, TOKENS))


def _bert(**sizes: int) -> tuple[torch.nn.Module, Tensors]:
    model = transformers.BertModel(transformers.BertConfig(**sizes), add_pooling_layer=False)
    return Part(model), (_tokens(), torch.ones(1, TOKENS, dtype=torch.int64))


def _gpt2() -> tuple[torch.nn.Module, Tensors]:
    return Part(transformers.GPT2LMHeadModel(transformers.GPT2Config()), use_cache=False), (_tokens(),)


def _llama() -> tuple[torch.nn.Module, Tensors]:
    config = transformers.LlamaConfig(vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12,
                                      num_attention_heads=12, num_key_value_heads=4)
    return Part(transformers.LlamaForCausalLM(config), use_cache=False), (_tokens(),)


def _whisper() -> tuple[torch.nn.Module, Tensors]:
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    return Part(transformers.WhisperModel(config).get_encoder()), (torch.randn(1, 80, 3000),)


def _mlp() -> tuple[torch.nn.Module, Tensors]:
    linear, relu = torch.nn.Linear, torch.nn.ReLU()
    return torch.nn.Sequential(linear(784, 512), relu, linear(512, 512), relu, linear(512, 10)), (torch.randn(32, 784),)


MODELS: dict[str, Callable[[], tuple[torch.nn.Module, Tensors]]] = {
    "mlp": _mlp,
    **{name: lambda name=name: _image(name) for name in IMAGES},
    "bert": _bert,
    "minilm": lambda: _bert(hidden_size=384, intermediate_size=1536, num_hidden_layers=6, num_attention_heads=12),
    "gpt2": _gpt2, "llama": _llama, "whisper": _whisper,
}


def export(name: str, directory: Path) -> None:
    """Writes ``NAME.onnx`` and ``NAME.npz``; a model of INT8 from its f32 one, which is written first if it is missing."""
    path = directory / f"{name}.onnx"
    if name in INT8:
        original = name.removesuffix("-int8")
        if not path.with_stem(original).exists():
            export(original, directory)
        _quantize(path.with_stem(original), path)
        return
    np.savez(path.with_suffix(".npz"), **write(*build(name), path))


def build(name: str) -> tuple[torch.nn.Module, Tensors]:
    """A model of ``MODELS`` for inference, with random weights, and its inputs; the same ones each time."""
    torch.manual_seed(0)
    model, given = MODELS[name]()
    for parameter in model.parameters():     # ViT's last product starts as zeros, of which results say nothing
        if parameter.dim() > 1 and not parameter.any():
            torch.nn.init.normal_(parameter.data, std=0.02)
    return model.eval(), given


def write(model: torch.nn.Module, given: Tensors, path: Path) -> dict[str, np.ndarray]:
    """Writes a model to ``path``. Returns its inputs, by name."""
    names = [f"input{i}" for i in range(len(given))]
    with torch.no_grad():
        program = torch.onnx.export(model, given, dynamo=True, input_names=names, verbose=False, opset_version=20)
    assert program is not None
    program.save(str(path), external_data=False)
    return {key: value.numpy() for key, value in zip(names, given)}


def _quantize(path: Path, result: Path) -> None:
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with np.load(path.with_suffix(".npz")) as stored:
        inputs = dict(stored)

    class Samples(quantization.CalibrationDataReader):
        left = [inputs]

        def get_next(self) -> dict:   # empty at the end
            return self.left.pop() if self.left else {}

    prepared = result.with_suffix(".part")
    quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    quantization.quantize_static(str(prepared), str(result), Samples(), per_channel=True, weight_type=quantization.QuantType.QInt8,
                                 op_types_to_quantize=["Conv", "MatMul", "Gemm", "Add"])
    prepared.unlink()
    np.savez(result.with_suffix(".npz"), **inputs)


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = argparse.ArgumentParser(prog="python -m bench.whole", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("directory", type=Path, metavar="DIRECTORY", help="where to write")
    p.add_argument("names", nargs="*", metavar="NAME", choices=[*MODELS, *INT8, []],
                   help=f"of {', '.join((*MODELS, *INT8))}; all by default")
    return p


def main(argv: list[str] | None = None) -> int:
    """Writes the models. Returns the exit code."""
    options = parser().parse_args(argv)
    options.directory.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in options.names or (*MODELS, *INT8):
        with torch.no_grad():
            export(name, options.directory)
        print(options.directory / f"{name}.onnx", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
