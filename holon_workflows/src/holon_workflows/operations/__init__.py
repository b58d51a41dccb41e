"""The operations of this distribution, one module for each group of nouns."""
