"""The attrs types of the contracts, a module each."""
