"""From renditions to entries, from entries to the prompt, and what each costs."""
