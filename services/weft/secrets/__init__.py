"""Finds and masks credentials in texts. It is below the services, so that the same rules apply
wherever a text is shown or sent, or something is derived from it."""
