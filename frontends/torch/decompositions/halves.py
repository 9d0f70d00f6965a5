"""The types whose numbers torch computes with in f32, and rounds at the end."""
import torch  # pyright: ignore[reportMissingImports]

HALVES = (torch.float16, torch.bfloat16)
