"""The memory lane of Holon: workspace memory over the elegy.memory contract."""
