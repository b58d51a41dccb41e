"""The MCP lane of Holon: server metadata in, governed tools out."""
