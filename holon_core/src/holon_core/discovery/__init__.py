"""Discovery: what fits a request, and what stands in a caller's way."""
