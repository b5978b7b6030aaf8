from datetime import date
from decimal import Decimal

import pytest
from tally.orders import parse_amount, parse_row

ROW = {
    "id": "O-20001",
    "placed_at": "2026-11-14T23:40:00-05:00",
    "customer": "C-077",
    "amount": "18.20",
    "currency": "EUR",
    "status": "paid",
}


def test_a_day_is_counted_in_utc():
    assert parse_row(ROW).day == date(2026, 11, 15)


@pytest.mark.parametrize("cents", range(50, 300_000, 1_997))
def test_every_displayed_amount_is_read_back(cents):
    amount = Decimal(cents) / 100
    assert parse_amount(f"{amount:,.2f}") == amount
