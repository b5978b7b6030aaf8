"""The gateway's configuration, and the file of an MCP host that it is read from."""
