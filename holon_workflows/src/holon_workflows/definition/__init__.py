"""Definitions of workflows: their form, what they mean, and what may be wrong with them."""
