"""Servers' tools: how they are listed, found and set apart, and whether a call's arguments fit."""
