"""Looking back: what the log says about past compiles, and whether it is consistent.

Pure: `reproduce`, `difference`, `backtest`, `checks`. `reproduce_from_log`, `difference_from_log`,
`backtest_from_log` and `verify` read a real log.
"""
