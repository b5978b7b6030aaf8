"""Writes data/orders.json and data/orders.csv: 2,000 orders of a shop that does not exist, from a
fixed seed."""

import csv
import json
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path

COUNT = 2_000
OFFSETS = {"US": -5, "BR": -3, "GB": 0, "DE": 1, "IN": 5.5, "JP": 9}
CURRENCIES = {"US": "USD", "BR": "USD", "GB": "GBP", "DE": "EUR", "IN": "USD", "JP": "USD"}
GOODS = ("lamp", "desk", "chair", "shelf", "rug", "mirror", "kettle", "clock")
FIELDS = ("id", "placed_at", "customer", "country", "amount", "currency", "status")


def order(number: int, dice: random.Random) -> dict:
    country = dice.choice(list(OFFSETS))
    zone = timezone(timedelta(hours=OFFSETS[country]))
    minute = datetime(2026, 11, 10, tzinfo=zone) + timedelta(minutes=dice.randrange(6 * 24 * 60))
    lines = [
        {
            "sku": dice.choice(GOODS),
            "quantity": dice.randint(1, 3),
            "price": dice.randint(900, 9999),
        }
        for _ in range(dice.randint(1, 3))
    ]
    if dice.random() < 0.01:
        lines.append({"sku": "sofa", "quantity": 1, "price": dice.randint(100_000, 190_000)})
    cents = sum(line["quantity"] * line["price"] for line in lines)
    return {
        "id": f"O-{20_000 + number}",
        "placed_at": minute.isoformat(),
        "customer": f"C-{dice.randrange(400):03d}",
        "country": country,
        "lines": lines,
        "amount": f"{cents / 100:,.2f}",
        "currency": CURRENCIES[country],
        "status": dice.choices(("paid", "refunded", "cancelled"), (90, 6, 4))[0],
    }


def main() -> None:
    dice = random.Random(1114)
    orders = [order(number, dice) for number in range(COUNT)]
    Path("data").mkdir(exist_ok=True)
    document = {"count": COUNT, "generated_at": "2026-11-16T02:00:00+00:00", "orders": orders}
    Path("data/orders.json").write_text(json.dumps(document))
    with open("data/orders.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(orders)
    print(f"wrote {COUNT} orders to data/orders.json and data/orders.csv")


if __name__ == "__main__":
    main()
