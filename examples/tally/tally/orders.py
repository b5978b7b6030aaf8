"""Reading the export: one Order per CSV row."""

import csv
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path


@dataclass(frozen=True)
class Order:
    id: str
    placed_at: datetime
    customer: str
    amount: Decimal
    currency: str
    status: str

    @property
    def day(self) -> date:
        return self.placed_at.date()


def read_orders(path: Path) -> list[Order]:
    with path.open(newline="") as file:
        return [parse_row(row) for row in csv.DictReader(file)]


def parse_row(row: dict[str, str]) -> Order:
    return Order(
        id=row["id"],
        placed_at=datetime.fromisoformat(row["placed_at"]),
        customer=row["customer"],
        amount=parse_amount(row["amount"]),
        currency=row["currency"],
        status=row["status"],
    )


def parse_amount(text: str) -> Decimal:
    return Decimal(str(float(text)))
