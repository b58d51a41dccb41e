"""Agents: what they may answer, see and call."""
