"""A tool's result of each form that the firewall summarises."""

import json
import random


def log(lines: int) -> str:
    rng = random.Random(1)
    every = [
        f"2024-05-01 10:{n // 60:02d}:{n % 60:02d},{rng.randrange(999):03d} INFO worker-{n % 4} "
        f"served /items/{rng.randrange(9999)} in {rng.randrange(90)} ms"
        for n in range(lines)
    ]
    every[lines // 2] = "2024-05-01 10:20:00,000 ERROR worker-2 connection to db-7 refused"
    every[lines // 3] = "2024-05-01 10:10:00,000 WARN worker-1 queue is half full"
    return "\n".join(every)


TRACEBACK = """Traceback (most recent call last):
  File "/app/main.py", line 12, in <module>
    run(config)
  File "/usr/lib/python3.11/site-packages/lib/deep.py", line 400, in call
    return self._call(request)
  File "/app/orders.py", line 88, in total
    return sum(line.price for line in lines)
AttributeError: 'NoneType' object has no attribute 'price'
"""

DIFF = "".join(
    f"diff --git a/src/m{n}.py b/src/m{n}.py\n--- a/src/m{n}.py\n+++ b/src/m{n}.py\n"
    f"@@ -{n},4 +{n},5 @@ def f():\n context one\n-old value {n}\n+new value {n}\n+added {n}\n"
    for n in range(40)
)

TESTS = (
    "============ test session starts ============\n"
    + "".join(f"tests/test_m{n}.py::test_works PASSED\n" for n in range(200))
    + "______ test_total ______\n    def test_total():\n>       assert total([1]) == 2\n"
    "E       assert 1 == 2\n\ntests/test_orders.py:14: AssertionError\n"
    "FAILED tests/test_orders.py::test_total - assert 1 == 2\n"
    "============ 1 failed, 200 passed in 3.21s ============\n"
)

HTML = (
    "<!doctype html><html><head><title>Prices</title><script>var x = 'hidden';</script></head>"
    "<body>"
    "<nav><a href='/'>Home</a></nav><h1>Price list</h1>"
    + "".join(f"<h2>Model {n}</h2><p>Costs {n} euro, in stock.</p>" for n in range(200))
    + "</body></html>"
)

MARKDOWN = "# Guide\n\nHow to deploy.\n\n" + "".join(
    f"## Step {n}\n\nRun `deploy-{n}` and look at [the page](https://example.com/{n}).\n\n"
    for n in range(100)
)

CODE = '"""A module."""\nimport os\n\n' + "".join(
    f"class Thing{n}:\n    def method_{n}(self, a):\n        if a:\n            return {n}\n\n"
    for n in range(60)
)

YAML = "".join(
    f"- name: server-{n}\n  tool: fetch_{n}\n  about: gets a thing\n  retries: 3\n"
    for n in range(90)
)

XML = (
    "<?xml version='1.0'?>\n<orders>\n"
    + "".join(
        f"  <order>\n    <id>A-{n}</id>\n    <total>{n}.50</total>\n  </order>\n"
        for n in range(120)
    )
    + "</orders>\n"
)

CSV = "id,name,amount,city\n" + "".join(
    f'{n},"Name, {n}",{n * 1.5},{("Rome", "Oslo")[n % 2]}\n' for n in range(400)
)

TABLE = "| id | name | price |\n|----|:----:|------:|\n" + "".join(
    f"| {n} | item {n} | {n}.25 |\n" for n in range(200)
)

PSQL = " id | customer | state\n----+----------+----------\n" + "".join(
    f"{n:3d} | cust {n:3d} | {'disputed' if n == 131 else 'paid'}\n" for n in range(300)
)

MYSQL = "+-----+--------+\n| id  | state  |\n+-----+--------+\n" + "".join(
    f"| {n:3d} | {'failed' if n == 131 else 'paid  '} |\n" for n in range(300)
)

INSTALLER = (
    "".join(f"npm warn deprecated pkg{n}@1.{n}.0: use another\n" for n in range(300))
    + "\nadded 1402 packages in 33s\n\nrun `npm audit` for details\n"
)

LISTING = "\n".join(f"./src/package_{n % 9}/module_{n}.py" for n in range(300))

PROSE = (
    "The museum opened in 1912 and was rebuilt after the war. "
    + "Visitors come from all over the country to see it. " * 80
    + "Its director is Maria Keller, and the ticket office is at 12 Bridge Street."
)

NDJSON = "\n".join(json.dumps({"event": f"e{n}", "user": f"u-{n}", "ms": n}) for n in range(300))
