"""Reasons why ops without an entry are not supported, where there is more to say."""

_REASONS = {
    "strings are not supported": ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"),
    "random numbers are not supported": (
        "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
    ),
}  # fmt: skip
REASONS = {op_type: reason for reason, op_types in _REASONS.items() for op_type in op_types}
