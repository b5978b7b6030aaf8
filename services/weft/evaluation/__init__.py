"""How much of what a step needs is in the prompt compiled for it: metrics, baselines, tables."""
