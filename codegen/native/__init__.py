"""Native code written in Python: functions in a small typed subset of it (language.py) are compiled to MLIR (compiler.py), never run."""
