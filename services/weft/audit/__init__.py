"""Looking back: what the log says about compiles of the past, and whether all of it holds."""
