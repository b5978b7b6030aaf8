"""Looking back: what the log says about compiles of the past, and whether all of it holds.

Pure: `reproduce`, `difference`, `backtest`, `checks`. `reproduce_from_log`, `difference_from_log`,
`backtest_from_log` and `verify` read a real log.
"""
