"""Reading OpenAPI documents and hand-written descriptors into operations."""
