"""The firewall: an untrusted tool result of any size and content becomes a ResultEnvelope."""
