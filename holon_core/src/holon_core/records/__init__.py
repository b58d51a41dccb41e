"""The records that cross a boundary: wire, store or plugin. One module a concept."""
