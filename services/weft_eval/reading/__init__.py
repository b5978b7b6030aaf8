"""Reading: what a model does with a prompt. A reader gets a running session in one of several forms
and names the next tool call, which is compared with the actual one."""
