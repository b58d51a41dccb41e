"""The one place of this lane that opens connections."""
