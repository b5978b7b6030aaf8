"""Bodies of results as text: normalised, and with what may not be shown masked."""
