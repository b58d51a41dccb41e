"""The workspace lane of Holon: glob, grep, list and read inside one folder."""
