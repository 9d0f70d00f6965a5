"""Steps of TVM's schedules that have another name here, or none."""

SEARCH = "a number to be searched is knob(name, options), and replay(trace, name=value) chooses another"
CHANCE = "it makes no random choices; " + SEARCH
ALWAYS = "each step is checked: buffers that a block reads and writes are found in its body, not declared"
WINDOWED = "cache_read, compute_at and storage_align keep the part that a step reads; each step computes all of it"
ELSEWHERE = {  # TVM's name -> the replacement here
    "sample_perfect_tile": SEARCH, "sample_categorical": SEARCH, "sample_partitioned_tile": SEARCH,
    "sample_compute_location": "knob(name, range(len(loops))) chooses the loop for compute_at", "fork_seed": CHANCE, "seed": CHANCE,
    "remove_rv": "handles become invalid with what they refer to", "enter_postproc": "steps after a search follow in the same trace",
    "get_sref": "get(handle) is the operation", "apply_trace": "replay(text) runs a script",
    "state": "str(schedule) is the kernel, get(handle) an operation", "func_working_on": "kernel_name is the kernel's name",
    "copy": "Schedule(schedule.module) begins with the kernel as it is, and replay(trace) repeats the steps on another",
    "rolling_buffer": WINDOWED,
    "set_axis_separator": "buffers have one space of addresses; transform_layout joins and splits their axes",
    "annotate_buffer_access": ALWAYS, "unsafe_hide_buffer_access": ALWAYS,
    "reindex_cache_read": "reindex(block, (\"read\", 0)) makes the copy, and transform_layout and set_scope on it its map and scope",
    "reindex_cache_write": "reindex(block, (\"write\", 0)) makes the copy, and transform_layout and set_scope its map and scope",
    "cache_inplace": "reindex(block, (\"write\", 0)) of a block that adds to what is there copies the elements before and after it",
    "cache_index": "index arithmetic that loops share is found when the kernel is compiled",
    "fuse_reduction_epilogue": "reverse_compute_at computes an epilogue in the loop of the reduction that it reads",
}
