"""Reasons why ops without an entry are not supported, where there is more to say."""

_REASONS = {
    "strings are not supported": ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"),
}  # fmt: skip
REASONS = {op_type: reason for reason, op_types in _REASONS.items() for op_type in op_types}

_MICROSOFT = {
    "it is a loop around a model: compile the model that it calls, and write the loop in Python (docs/generate.md)": (
        "BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"),
    "strings are not supported": ("Tokenizer",),
    "memory in pages, which a server of many requests shares, is not supported": ("PagedAttention", "SparsePagedAttention"),
    "it is for training": ("BiasDropout", "BitmaskBiasDropout", "BitmaskDropout", "IsAllFinite"),
}  # fmt: skip
_LAYOUTS = ("onnxruntime's optimizer wrote it, in a layout for the machine it ran on: save the model with at most "
            "GraphOptimizationLevel.ORT_ENABLE_EXTENDED")
_OF_DOMAINS = {"com.microsoft.nchwc": _LAYOUTS, "com.ms.internal.nhwc": _LAYOUTS}


def reason_of(domain: str, op_type: str) -> str | None:
    """Why an op of another domain than ONNX's is not supported, where there is more to say."""
    if domain == "com.microsoft":
        return next((reason for reason, op_types in _MICROSOFT.items() if op_type in op_types), None)
    return _OF_DOMAINS.get(domain)
