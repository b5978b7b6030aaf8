from datetime import date
from decimal import Decimal

from tally.orders import parse_row
from tally.report import revenue

from tests.test_orders import ROW


def test_only_paid_orders_count():
    orders = [parse_row(ROW), parse_row(ROW | {"id": "O-20002", "status": "refunded"})]
    days = {order.day for order in orders}
    assert revenue(orders, days.pop()) == {"EUR": Decimal("18.20")}


def test_a_day_without_orders_has_no_revenue():
    assert revenue([parse_row(ROW)], date(2026, 1, 1)) == {}
