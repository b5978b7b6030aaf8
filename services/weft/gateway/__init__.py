"""The MCP gateway: between any host and any number of MCP servers, with the log behind it."""
