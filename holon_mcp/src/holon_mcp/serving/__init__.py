"""Holon served as an MCP server; needs the extra `serve`."""
