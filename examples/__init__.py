"""Worked examples: an accelerator of one's own (``npu``), sentence embeddings (``minilm``)."""
