"""Architectures of transformers, tiny, and arguments for them."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
import transformers  # pyright: ignore[reportMissingImports]

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
T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
LOUD = {"initializer_range": 0.15}   # for convolutions without normalization, whose values vanish by the default of 0.02
GROUPED = ("q", "k", "v", "post_attention", "intermediate", "output")   # products of squeezebert
WAVE = {
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
}
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
    "squeezebert": ("text", {**TEXT, "embedding_size": 32, "intermediate_size": 64, **{f"{part}_groups": 2 for part in GROUPED}}),
    "mobilebert": ("text", {**TEXT, "embedding_size": 16, "intra_bottleneck_size": 32}),
    "layoutlm": ("text", TEXT),
    "modernbert": ("text", DECODER),
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
    "t5": ("seq2seq", T5),
    "mt5": ("seq2seq", T5),
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
    "mobilenet_v1": ("image", {**LOUD, "image_size": 32, "depth_multiplier": 0.25}),
    "mobilenet_v2": ("image", {**LOUD, "image_size": 32, "depth_multiplier": 0.25}),
    "efficientnet": ("image", {**LOUD, "image_size": 32, "width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 320}),
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
    "mobilevit": ("image", {**LOUD, "image_size": 32}),
    "pvt": ("image", {"image_size": 32, "hidden_sizes": [8, 16, 20, 16], "depths": [1, 1, 1, 1]}),
    "focalnet": ("image", {"image_size": 32, "embed_dim": 16, "depths": [1, 1]}),
    "yolos": ("image", {**VIT, "image_size": [32, 32], "num_detection_tokens": 4}),
    "clip": ("pair", {"text_config": {**TEXT, "bos_token_id": 1, "eos_token_id": 2}, "vision_config": VIT, "projection_dim": 16}),
    "wav2vec2": ("wave", WAVE),
    "hubert": ("wave", WAVE),
    "wavlm": ("wave", WAVE),
    "unispeech": ("wave", WAVE),
    "sew": ("wave", {**WAVE, "squeeze_factor": 2}),
    "data2vec-audio": ("wave", {**WAVE, "num_conv_pos_embeddings": 2, "conv_pos_kernel_size": 3}),
    "falcon": ("text", {**TEXT, "new_decoder_architecture": False}),
    "gpt_neo": ("text", {"vocab_size": 99, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 64,
                         "attention_types": [[["global", "local"], 1]], "window_size": 4}),
    "codegen": ("text", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4}),
    "mpt": ("text", {"vocab_size": 99, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}),
    "biogpt": ("text", TEXT),
    "xglm": ("text", {"vocab_size": 99, "d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 37,
                      "max_position_embeddings": 64}),
    "olmo2": ("text", DECODER),
    "nemotron": ("text", DECODER),
    "glm": ("text", DECODER),
    "mixtral": ("text", {**DECODER, "intermediate_size": 40, "num_local_experts": 4}),
    "mamba": ("text", {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}),
    "fnet": ("text", TEXT),
    "xlnet": ("text", {"vocab_size": 99, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 37}),
    "deberta": ("text", {**TEXT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "longformer": ("text", {**TEXT, "attention_window": [4, 4]}),
    "rwkv": ("text", {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "context_length": 64}),
    "m2m_100": ("seq2seq", SEQ2SEQ),
    "blenderbot": ("seq2seq", SEQ2SEQ),
    "led": ("seq2seq", {**SEQ2SEQ, "attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}),
    "umt5": ("seq2seq", T5),
    "swinv2": ("image", {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4}),
    "hiera": ("image", {"image_size": [32, 32], "embed_dim": 16, "depths": [1, 1, 1], "num_heads": [1, 2, 4], "patch_stride": [4, 4],
                        "masked_unit_size": [4, 4], "embed_dim_multiplier": 2.0, "query_stride": [2, 2], "num_query_pool": 2}),
    "bit": ("image", {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "num_groups": 4}),
    "vit_msn": ("image", VIT),
    "dinov2_with_registers": ("image", VIT),
    "mobilevitv2": ("image", {"image_size": 64, "width_multiplier": 0.25}),
    "glpn": ("image", {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 2]}),
    "pvt_v2": ("image", {"image_size": 32, "hidden_sizes": [8, 16, 20, 16], "depths": [1, 1, 1, 1]}),
    "swiftformer": ("image", {"image_size": 64, "embed_dims": [8, 16, 16, 16], "depths": [1, 1, 1, 1]}),
}


def arguments(name: str, size: int, length: int, side: int | None = None) -> dict[str, torch.Tensor]:
    """Arguments for a batch of a size; ``length`` is that of text, ``side`` that of images (None: the one of the configuration)."""
    kind = ARCHITECTURES[name][0]
    ids = torch.randint(3, 99, (size, length))
    text = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if kind == "text":
        return text
    if kind == "seq2seq":
        return {**text, "decoder_input_ids": torch.randint(3, 99, (size, length - 2))}
    if kind == "audio":
        return {"input_features": torch.randn(size, 16, 40), "decoder_input_ids": torch.randint(3, 99, (size, length))}
    if kind == "wave":
        return {"input_values": torch.randn(size, 40 * length)}
    if kind == "pair":
        return {"input_ids": ids, "pixel_values": torch.randn(size, 3, 32, 32), "attention_mask": torch.ones_like(ids)}
    side = side if side is not None else image_side(name)
    return {"pixel_values": torch.randn(size, 3, side, side + (side // 2 if side != image_side(name) else 0))}


def image_side(name: str) -> int:
    """The sides of the images that an architecture is configured for."""
    size = ARCHITECTURES[name][1].get("image_size", 64)
    return size if isinstance(size, int) else size[0]


def axes(name: str, dynamic: str, sides: bool = True) -> dict[str, dict[int, str]]:
    """The names of the sizes that calls may change, by argument: none (``static``), those of batches (``batch``), or all that the
    architecture has (``all``); ``sides``: those of images, too."""
    found: dict[str, dict[int, str]] = {}
    for key in arguments(name, 1, 7):
        if dynamic == "static":
            continue
        found[key] = {0: "batch"}
        if dynamic == "all" and key.endswith(("ids", "mask")):
            found[key][1] = "decoded" if "decoder" in key else "length"
        if dynamic == "all" and key == "input_values":
            found[key][1] = "length"
        if dynamic == "all" and sides and key == "pixel_values" and ARCHITECTURES[name][0] == "image":
            found[key] |= {2: "height", 3: "width"}
    return found


class Tensors(torch.nn.Module):
    """A model whose result is the tuple of its tensors, by named arguments."""

    def __init__(self, model: torch.nn.Module, names: list[str], options: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.names, self.options = model, names, options

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The tensors of the result that no cache holds."""
        result = self.model(**dict(zip(self.names, values)), **self.options)
        return tuple(value for value in result.to_tuple() if isinstance(value, torch.Tensor))


def model(name: str, attention: str | None = None) -> Tensors:
    """An architecture with random weights. ``attention``: the implementation of transformers' that it uses."""
    kind, options = ARCHITECTURES[name]
    torch.manual_seed(0)
    configuration = transformers.AutoConfig.for_model(name, **options)
    chosen = {"attn_implementation": attention} if attention else {}
    base = transformers.AutoModel.from_config(configuration, **chosen).eval()
    parameters = base.forward.__code__.co_varnames
    extra = {"use_cache": False} if kind in ("text", "seq2seq", "audio") else {}
    if "interpolate_pos_encoding" in parameters and kind == "image":
        extra["interpolate_pos_encoding"] = True
    return Tensors(base, list(arguments(name, 1, 7)), extra).eval()
