"""Steps of TVM's schedules that have another name here."""

SEARCH = "a number to be searched is knob(name, options)"
ELSEWHERE = {  # TVM's name -> the replacement here
    "sample_perfect_tile": SEARCH, "sample_categorical": SEARCH, "sample_partitioned_tile": SEARCH,
    "merge": "fuse makes one of loops inside each other",
    "get_sref": "get(handle) is the operation", "apply_trace": "replay(text) runs a script",
}
