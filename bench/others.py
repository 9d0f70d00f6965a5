"""Writes models of other kinds than those of ``bench.whole``, to look for what is slow: ``python -m bench.others DIRECTORY [NAME...]``.

Networks for images, sound, text and tables, in usual sizes, with random weights; ``NAME.npz`` beside a model has its inputs. Then:
``python -m bench.peers DIRECTORY/*.onnx --threads 1,2 --precisions f32,bf16``. Needs torch, torchvision and transformers.
"""
import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
import torchvision  # pyright: ignore[reportMissingImports]
import transformers  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]

from bench.whole import Part, Tensors, write

IMAGES = ("densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "mobilenet_v3_large", "regnet_x_800mf", "resnext50_32x4d",
          "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "vgg11")


def _convolved(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    """Segmentation: images halved three times, and doubled again beside what they were."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        sizes = [width << level for level in range(4)]
        self.down = nn.ModuleList(nn.Sequential(_convolved(a, b), _convolved(b, b)) for a, b in zip([3, *sizes], sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * b, b, 2, 2) for b in sizes[-2::-1])
        self.joined = nn.ModuleList(nn.Sequential(_convolved(2 * b, b), _convolved(b, b)) for b in sizes[-2::-1])
        self.last = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Two numbers for each pixel."""
        kept = []
        for level in self.down:
            x = level(x if not kept else functional.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for up, joined in zip(self.up, self.joined):
            x = joined(torch.cat([up(x), kept.pop()], 1))
        return self.last(x)


class Residual(nn.Module):
    """A block of diffusion models: group norms, SiLU and convolutions."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(32, inputs), nn.GroupNorm(32, outputs)])
        self.convolutions = nn.ModuleList([nn.Conv2d(inputs, outputs, 3, 1, 1), nn.Conv2d(outputs, outputs, 3, 1, 1)])
        self.beside = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """An image of the same size."""
        y = x
        for norm, convolution in zip(self.norms, self.convolutions):
            y = convolution(functional.silu(norm(y)))
        return self.beside(x) + y


class Upscaler(nn.Module):
    """Super-resolution: dense blocks, and pixels from channels."""

    def __init__(self, width: int = 32, more: int = 16) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, width, 3, 1, 1), nn.Conv2d(width, 3, 3, 1, 1)
        self.blocks = nn.ModuleList(nn.ModuleList(nn.Conv2d(width + k * more, more if k < 3 else width, 3, 1, 1) for k in range(4))
                                    for _ in range(4))
        self.wide = nn.Conv2d(width, 4 * width, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """An image of twice the size."""
        x = self.first(x)
        for *inner, last in self.blocks:
            found = [x]
            for convolution in inner:
                found.append(functional.leaky_relu(convolution(torch.cat(found, 1)), 0.2))
            x = x + 0.2 * last(torch.cat(found, 1))
        return self.last(functional.leaky_relu(functional.pixel_shuffle(self.wide(x), 2), 0.2))


class Vocoder(nn.Module):
    """Sound from a spectrogram: transposed and dilated convolutions of one dimension."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.first, self.up, self.inner = nn.Conv1d(80, width, 7, 1, 3), nn.ModuleList(), nn.ModuleList()
        for rate, size in ((8, 16), (8, 16), (2, 4)):
            self.up.append(nn.ConvTranspose1d(width, width // 2, size, rate, (size - rate) // 2))
            width //= 2
            self.inner.append(nn.ModuleList(nn.Conv1d(width, width, k, 1, (k - 1) * d // 2, d) for k in (3, 7, 11) for d in (1, 3)))
        self.last = nn.Conv1d(width, 1, 7, 1, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """128 samples for each column."""
        x = self.first(x)
        for up, inner in zip(self.up, self.inner):
            x = up(functional.leaky_relu(x, 0.1))
            for convolution in inner:
                x = x + convolution(functional.leaky_relu(x, 0.1))
        return torch.tanh(self.last(functional.leaky_relu(x)))


class Temporal(nn.Module):
    """A temporal convolutional network: dilated convolutions with residuals."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.first = nn.Conv1d(12, width, 1)
        self.inner = nn.ModuleList(nn.Conv1d(width, width, 3, padding=2 ** d, dilation=2 ** d) for d in range(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As many columns."""
        x = self.first(x)
        for convolution in self.inner:
            x = x + functional.relu(convolution(x))
        return x


class First(nn.Module):
    """The first result of a module."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Without states."""
        return self.module(x)[0]


def _decoder() -> tuple[nn.Module, Tensors]:
    up = nn.Upsample(scale_factor=2.0)
    layers = nn.Sequential(nn.Conv2d(4, 128, 3, 1, 1), Residual(128, 128), up, Residual(128, 128), up, Residual(128, 64),
                           nn.Conv2d(64, 3, 3, 1, 1))
    return layers, (torch.randn(1, 4, 32, 32),)


def _tokens(count: int, batch: int = 1) -> torch.Tensor:
    return torch.randint(0, 1000, (batch, count))


def _bert() -> nn.Module:
    return Part(transformers.BertModel(transformers.BertConfig(num_hidden_layers=4), add_pooling_layer=False))


def _qwen() -> tuple[nn.Module, Tensors]:
    config = transformers.Qwen2Config(vocab_size=8000, hidden_size=512, intermediate_size=1408, num_hidden_layers=6,
                                      num_attention_heads=8, num_key_value_heads=2)
    return Part(transformers.Qwen2ForCausalLM(config), use_cache=False), (_tokens(33),)


def _segformer() -> tuple[nn.Module, Tensors]:
    return Part(transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig(num_labels=150))), (torch.randn(1, 3, 256, 256),)


def _image(name: str) -> tuple[nn.Module, Tensors]:
    fixed = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    return torchvision.models.get_model(name, weights=None, **fixed), (torch.randn(1, 3, 224, 224),)


MODELS: dict[str, Callable[[], tuple[nn.Module, Tensors]]] = {
    **{name: lambda name=name: _image(name) for name in IMAGES},
    "resnet18_of_8": lambda: (torchvision.models.resnet18(weights=None), (torch.randn(8, 3, 128, 128),)),
    "unet": lambda: (UNet(), (torch.randn(1, 3, 128, 128),)),
    "vae_decoder": _decoder,
    "upscaler": lambda: (Upscaler(), (torch.randn(1, 3, 96, 96),)),
    "vocoder": lambda: (Vocoder(), (torch.randn(1, 80, 64),)),
    "temporal": lambda: (Temporal(), (torch.randn(1, 12, 1000),)),
    "lstm": lambda: (First(nn.LSTM(128, 256, 2, batch_first=True)), (torch.randn(1, 64, 128),)),
    "bert_of_8": lambda: (_bert(), (_tokens(32, 8),)),
    "bert_of_384_tokens": lambda: (_bert(), (_tokens(384),)),
    "bert_of_17_tokens": lambda: (_bert(), (_tokens(17),)),
    "t5_encoder": lambda: (Part(transformers.T5EncoderModel(transformers.T5Config(num_layers=6))), (_tokens(100),)),
    "qwen2_of_33_tokens": _qwen,
    "segformer": _segformer,
}


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = argparse.ArgumentParser(prog="python -m bench.others", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("directory", type=Path, metavar="DIRECTORY", help="where to write")
    p.add_argument("names", nargs="*", metavar="NAME", choices=[*MODELS, []], help=f"of {', '.join(MODELS)}; all by default")
    return p


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    args = parser().parse_args(argv)
    args.directory.mkdir(parents=True, exist_ok=True)
    for name in args.names or MODELS:
        torch.manual_seed(0)
        model, given = MODELS[name]()
        path = args.directory / f"{name}.onnx"
        np.savez(path.with_suffix(".npz"), **write(model.eval(), given, path))
        print(path, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
