"""Credentials in texts: found and masked. It stands below the services, so that whoever shows a
text, derives from it or sends it masks by the same rules."""
