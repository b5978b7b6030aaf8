"""Measures compiles on recorded sessions: `weft eval`.

Of what a step needs, how much stands in the prompt compiled for it, beside plain baselines. The
product imports nothing from here: the command line and the reader of transcripts find this package
by its entry points.
"""
