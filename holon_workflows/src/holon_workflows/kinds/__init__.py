"""The kinds of nodes that this distribution brings."""
