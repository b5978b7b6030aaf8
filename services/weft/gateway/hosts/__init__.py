"""Hosts: who they are, what servers ask and tell them, and the pages of lists."""
