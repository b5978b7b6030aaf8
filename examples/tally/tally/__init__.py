"""Revenue per day from the shop's order export."""
