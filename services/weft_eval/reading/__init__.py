"""Reading: what a model does with a prompt. A reader gets a running session in one of several forms
and says the next tool call, which is compared with the one that was really made."""
