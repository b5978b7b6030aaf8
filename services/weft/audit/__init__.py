"""Looking back: what the log says about compiles of the past, and whether all of it holds.

What is named for the thing is pure (`reproduce`, `difference`, `backtest`, `checks`); what is named
for the doing (`reproducing`, `differing`, `backtesting`, `verifying`) does it on a real log.
"""
