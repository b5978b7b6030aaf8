"""Authorization at servers with an address: the client's credentials, and people's sign-ins."""
