"""Asking a server itself what it offers: on a person's command alone, listing and nothing else."""
