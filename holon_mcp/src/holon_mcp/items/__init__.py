"""Judging what a server lists: one thing at a time, none at the cost of another."""
