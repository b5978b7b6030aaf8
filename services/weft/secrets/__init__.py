"""Finds and masks credentials in texts. It is below the services, so that whoever shows a text,
derives something from it or sends it masks by the same rules."""
