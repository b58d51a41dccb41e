"""Portable Elegy contracts: types, schemas, validation, canonical form, argument templates."""
