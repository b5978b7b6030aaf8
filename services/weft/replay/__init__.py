"""Tools over the whole log: snapshots, copies, dead letters, erasure and what replays it.

What decides is pure and stands apart from what does it on a real log: `letters` and `reviving`,
`survey` and `surveying`, `rework` and `rederive`.
"""
