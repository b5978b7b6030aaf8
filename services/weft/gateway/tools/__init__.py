"""Servers' tools: how they are listed, found and quarantined, and whether a call's arguments
fit."""
