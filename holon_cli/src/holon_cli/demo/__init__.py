"""`holon demo`: the guarded door at work on the folder it stands in, every step a real call."""
