"""Bodies of results as text: normalised, with everything masked that may not be shown."""
