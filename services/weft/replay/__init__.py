"""Tools over the whole log: snapshots, copies, dead letters, erasure and what replays it."""
