"""Revenue of paid orders per day and currency, as a table."""

import argparse
import sys
from collections import defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path

from tally.orders import Order, read_orders


def revenue(orders: list[Order], day: date) -> dict[str, Decimal]:
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for order in orders:
        if order.status == "paid" and order.day == day:
            totals[order.currency] += order.amount
    return dict(sorted(totals.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("export", type=Path)
    parser.add_argument("--day", type=date.fromisoformat, required=True)
    arguments = parser.parse_args()
    totals = revenue(read_orders(arguments.export), arguments.day)
    for currency, total in totals.items():
        sys.stdout.write(f"{arguments.day}  {currency}  {total:>12,.2f}\n")


if __name__ == "__main__":
    main()
