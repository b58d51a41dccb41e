"""Evidence sinks that come with the core."""
