"""Parts of tir-plan-memory: sizes, lifetimes, placement, and the boundary of main."""
