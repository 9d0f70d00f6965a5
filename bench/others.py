"""Writes models of other kinds than those of ``bench.whole``, to look for what is slow: ``python -m bench.others DIRECTORY [NAME...]``.

Networks for images, sound, text and tables, in usual sizes, with random weights; ``NAME.npz`` beside a model has its inputs. Then:
``python -m bench.peers DIRECTORY/*.onnx --threads 1,2 --precisions f32,bf16``. Needs torch, torchvision and transformers. Networks of
timm (``timm/NAME``, and ``timm`` for those that were measured) need that.
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

from bench.networks import First, GraphNetwork, Residual, Spectral, Temporal, UNet, Upscaler, Vocoder, VolumeUNet
from bench.whole import Part, Tensors, write

IMAGES = ("densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "mobilenet_v3_large", "regnet_x_800mf", "resnext50_32x4d",
          "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "vgg11")
TIMM = ("hrnet_w18_small", "res2net50_14w_8s", "nfnet_l0", "ghostnet_100", "edgenext_small", "coatnet_0_rw_224", "convmixer_768_32",
        "resmlp_12_224", "gmlp_s16_224", "xcit_nano_12_p16_224", "efficientformer_l1", "fastvit_t8", "mobilenetv4_conv_small", "skresnet18",
        "botnet26t_256", "lambda_resnet26t", "inception_next_tiny", "starnet_s1", "hgnetv2_b0", "tiny_vit_5m_224", "davit_tiny")


def _decoder() -> tuple[nn.Module, Tensors]:
    up = nn.Upsample(scale_factor=2.0)
    layers = nn.Sequential(nn.Conv2d(4, 128, 3, 1, 1), Residual(128, 128), up, Residual(128, 128), up, Residual(128, 64),
                           nn.Conv2d(64, 3, 3, 1, 1))
    return layers, (torch.randn(1, 4, 32, 32),)


def _tokens(count: int, batch: int = 1) -> torch.Tensor:
    return torch.randint(0, 1000, (batch, count))


def _graph() -> Tensors:
    """2000 nodes with 64 numbers, and 10000 edges."""
    return torch.randn(2000, 64), torch.randint(0, 2000, (2, 10000))


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


def _of_timm(name: str) -> tuple[nn.Module, Tensors]:
    import timm  # pyright: ignore[reportMissingImports]
    model = timm.create_model(name, pretrained=False)
    return model, (torch.randn(1, *model.default_cfg["input_size"]),)


MODELS: dict[str, Callable[[], tuple[nn.Module, Tensors]]] = {
    **{name: lambda name=name: _image(name) for name in IMAGES},
    "resnet18_of_8": lambda: (torchvision.models.resnet18(weights=None), (torch.randn(8, 3, 128, 128),)),
    "unet": lambda: (UNet(), (torch.randn(1, 3, 128, 128),)),
    "vae_decoder": _decoder,
    "upscaler": lambda: (Upscaler(), (torch.randn(1, 3, 96, 96),)),
    "vocoder": lambda: (Vocoder(), (torch.randn(1, 80, 64),)),
    "temporal": lambda: (Temporal(), (torch.randn(1, 12, 1000),)),
    "volume_unet": lambda: (VolumeUNet(), (torch.randn(1, 1, 32, 32, 32),)),
    "graph": lambda: (GraphNetwork(False), _graph()),
    "repeating_graph": lambda: (GraphNetwork(True), _graph()),
    "spectral": lambda: (Spectral(), (torch.randn(1, 16, 2048),)),
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
    p.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; all by default; or timm, or timm/NAME for others")
    return p


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    args = parser().parse_args(argv)
    names = [one for name in args.names or MODELS for one in ([f"timm/{of_timm}" for of_timm in TIMM] if name == "timm" else [name])]
    if unknown := [name for name in names if name not in MODELS and not name.startswith("timm/")]:
        parser().error(f"there is no model {', '.join(unknown)}: names are {', '.join(MODELS)}, timm and timm/NAME")
    args.directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        torch.manual_seed(0)
        source, _, name = name.rpartition("/")
        model, given = _of_timm(name) if source else MODELS[name]()
        path = args.directory / f"{name}.onnx"
        np.savez(path.with_suffix(".npz"), **write(model.eval(), given, path))
        print(path, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
