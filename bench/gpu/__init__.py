"""Legato beside torch and onnxruntime on a GPU: ``python -m bench.gpu``.

- ``cases.py``: kernels, ``model_cases.py``: models, as ONNX files with inputs. ``engines.py``: what runs them.
- ``peaks.py``: what the device can do. ``report.py``: a table, and a page. ``__main__.py``: the command.
"""
