"""TVM's graph ops: their names, arguments and defaults, in relax's ops."""
