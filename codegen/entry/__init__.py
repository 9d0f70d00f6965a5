"""Parts of tir-emit-entry: the entry's code that is the same for every model (*.mlir), and what is made for each (tables, metadata)."""
