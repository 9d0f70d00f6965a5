"""tir-lower-vectors: groups of patterns for one op visit the functions that have it, the others the whole module."""
from legato.dialects.module import Module
from legato.passes.cpu import lower_vectors
from legato.passes.pipeline.pipeline import PassPipeline

TEXT = """
func.func private @turned(%x: vector<4x8xf32>) -> vector<8x4xf32> {
  %0 = vector.transpose %x, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
  return %0 : vector<8x4xf32>
}
func.func private @cast(%x: vector<4x8xf32>) -> vector<32xf32> {
  %0 = vector.shape_cast %x : vector<4x8xf32> to vector<32xf32>
  return %0 : vector<32xf32>
}
func.func private @kept(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.addf %x, %x : vector<8xf32>
  return %0 : vector<8xf32>
}
"""


def test_groups_of_one_op_visit_the_functions_that_have_it(monkeypatch):
    visited = {}
    apply, scripts = lower_vectors.run_script, [lower_vectors.script(group) for group in lower_vectors.GROUPS]

    def record(body, payload, what):
        name = payload.attributes["sym_name"].value if payload.name == "func.func" else "module"
        visited.setdefault(name, []).append(scripts.index(body))
        apply(body, payload, what)

    monkeypatch.setattr(lower_vectors, "run_script", record)
    module = Module.parse(TEXT)
    PassPipeline("tir-lower-vectors").run(module)
    assert visited == {"module": [0, 1, 5], "turned": [2, 4], "cast": [4]}
    assert "vector.transpose" not in str(module) and "vector.shape_cast" not in str(module)


def test_functions_whose_vectors_are_lowered_are_not_visited(monkeypatch):
    visited, apply = [], lower_vectors.run_script

    def record(body, payload, what):
        visited.append([op.name.value for op in payload.regions[0].blocks[0].operations] if payload.name == "builtin.module" else [])
        apply(body, payload, what)

    monkeypatch.setattr(lower_vectors, "run_script", record)
    module = Module.parse("""
func.func private @kept(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = vector.fma %x, %x, %x : vector<8xf32>
  return %0 : vector<8xf32>
}
func.func private @masked(%x: vector<8xf32>, %n: index) -> vector<8xf32> {
  %0 = vector.create_mask %n : vector<8xi1>
  %1 = arith.select %0, %x, %x : vector<8xi1>, vector<8xf32>
  return %1 : vector<8xf32>
}
func.func private @single(%x: f32) -> vector<8xf32> {
  %0 = vector.broadcast %x : f32 to vector<1xf32>
  %1 = vector.broadcast %0 : vector<1xf32> to vector<8xf32>
  return %1 : vector<8xf32>
}
func.func private @last()
""")
    PassPipeline("tir-lower-vectors").run(module)
    assert visited and all(names == ["masked", "single"] for names in visited if names)
    assert [f.name.value for f in module.functions()] == ["kept", "masked", "single", "last"]
    assert "vector.create_mask" not in str(module) and "vector<1xf32>" not in str(module)
