"""Skills that were imported: sources, definitions by revision, bindings, and their gates."""
