"""Measures compiles on recorded sessions: `weft eval`.

It measures how much of what a step needs is in the prompt compiled for it, and compares weft with
plain baselines. The product imports nothing from this package: the command line and the reader of
transcripts find it by its entry points.
"""
