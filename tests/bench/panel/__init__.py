"""The panel: every measure of a prompt, on tuned and confirming halves, beside plain ways to fill
a budget, printed as one table."""
