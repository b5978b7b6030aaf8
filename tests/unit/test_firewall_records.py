"""Records of several lines, documents, frames and comments: what identifies them is told."""

import pytest
from tests.firewall_made import envelope
from tests.unit.test_passages_prose import GIT_LOG, INI, NMAP

from weft.firewall.facts import facts_of_text
from weft.firewall.summarise.code import numbered_lines, outline
from weft_schemas.policy import FirewallRules

RULES = FirewallRules(threshold=200, summary_tokens=300)
MBOX = "".join(
    f"From ann@x.org Mon May  6 10:00:{n:02d} 2024\nFrom: Ann <ann{n}@x.org>\nTo: bob@x.org\n"
    f"Subject: Invoice number {n}\nDate: Mon, 6 May 2024\nMessage-ID: <{n}@x.org>\n\n"
    f"Dear Bob, this is mail {n}. Please pay {n}.10 euro.\n\nBest, Ann\n\n"
    for n in range(40)
)
AUDIT = (
    "# npm audit report\n\n"
    + "".join(
        f"pkg{n}  <{n}.2.0\nSeverity: {'critical' if n == 17 else 'moderate'}\n"
        f"Prototype Pollution - https://github.com/advisories/GHSA-{n:04d}\n"
        f"fix available via `npm audit fix`\nnode_modules/pkg{n}\n\n"
        for n in range(40)
    )
    + "40 vulnerabilities (39 moderate, 1 critical)\n\nTo fix all, run:\n  npm audit fix\n"
)
PLAN = (
    "Terraform will perform the following actions:\n\n"
    + "".join(
        f"  # aws_{chr(97 + n)}.main will be {'destroyed' if n == 7 else 'created'}\n"
        f'  + resource "aws_{chr(97 + n)}" "main" {{\n'
        + "".join(f"      + {'x' * m} = (known after apply)\n" for m in range(1, 12))
        + "    }\n\n"
        for n in range(12)
    )
    + "Plan: 3 to add, 1 to change, 2 to destroy.\n\nChanges to Outputs:\n"
    + "".join(f"  + out_{n} = (known after apply)\n" for n in range(30))
    + "\nNote: You didn't use the -out option to save this plan.\n"
)
DOCUMENTS = "".join(
    f"---\napiVersion: v1\nkind: Service\nmetadata:\n  name: svc-{n}\nspec:\n  ports:\n"
    f"  - port: {8000 + n}\n    targetPort: 80\n"
    for n in range(40)
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (MBOX, ["40 records in 320 lines", "Subject: Invoice number 0\n", "Invoice number 3\n"]),
        (NMAP, ["20 records in 280 lines", "host-0.example.net", "host-7.example.net"]),
        (INI, ["60 records", "[section-3]\nenabled = false\ntimeout = 37\n[section-4]\n"]),
        (GIT_LOG, [f"commit {0:040x}\n", f"commit {1:040x}\n"]),
        (
            AUDIT,
            [
                "Severity: moderate (39), critical (1)",
                "pkg17  <17.2.0\nSeverity: critical\n",
                "40 vulnerabilities (39 moderate, 1 critical)",
            ],
        ),
        (PLAN, ["  # aws_a.main will be created\n", "Plan: 3 to add, 1 to change, 2 to destroy."]),
        (DOCUMENTS, [f"kind: Service\nmetadata:\n  name: svc-{n}\n" for n in range(6)]),
    ],
    ids=["mbox", "nmap", "ini", "git", "audit", "plan", "yaml"],
)
def test_a_record_of_lines_is_told_by_its_first_ones(text: str, parts: list[str]) -> None:
    summary = envelope(text, RULES).summary
    for part in parts:
        assert part in summary


def test_paragraphs_are_no_records() -> None:
    text = "\n\n".join(f"The {'x' * n} is old.\nIt was {'y' * n} long ago." for n in range(40))
    assert "records" not in envelope(text, RULES).summary


def frames(package: str, count: int) -> str:
    return "".join(f"\tat {package}.X{n}.run(X{n}.java:{n})\n" for n in range(count))


def test_a_few_frames_of_each_package_are_shown() -> None:
    trace = (
        'Exception in thread "main" java.lang.IllegalStateException: cannot save\n'
        + frames("org.hibernate.engine", 40)
        + "\tat com.acme.orders.OrderService.save(OrderService.java:88)\n"
        + frames("io.netty.channel", 40)
        + "\tat com.acme.orders.OrderController.post(OrderController.java:41)\n"
        + "Caused by: java.sql.SQLException: no column total\n"
        + frames("org.postgresql", 20)
        + "\tat com.acme.orders.OrderRepo.insert(OrderRepo.java:12)\n\t... 80 more\n"
    )
    summary = envelope(trace, RULES).summary
    for place in ("OrderService.java:88", "OrderController.java:41", "OrderRepo.java:12"):
        assert place in summary


C = """\
/* Copyright of the firm:
   type of license (see below)
   struct of the thing */
struct point { int x; };
/**
 * class of things
 */
enum kind { A };
"""
PYTHON = '"""A module.\n\nclass names are long\ndef is a word\n"""\nclass Real:\n    pass\n'


@pytest.mark.parametrize(
    ("text", "names"), [(C, ["point", "kind"]), (PYTHON, ["Real"]), ("x\n" + C, ["point", "kind"])]
)
def test_words_of_a_comment_define_nothing(text: str, names: list[str]) -> None:
    found = outline(numbered_lines(text.splitlines()))
    assert [item.name.rstrip(":") for item in found] == names


def test_a_text_that_begins_within_a_comment_keeps_its_definitions() -> None:
    text = 'of a docstring\n"""\nclass Real:\n    def held(self):\n        pass\n'
    found = outline(numbered_lines(text.splitlines()))
    assert [item.name.rstrip(":") for item in found] == ["Real", "held"]


def test_a_header_of_c_is_source() -> None:
    text = "".join(f"/**\n * number {n} does it\n */\nint f_{n}(int a);\n" for n in range(80))
    assert envelope(text, RULES).content_type == "text/x-source"


def test_base64_has_no_paths() -> None:
    text = "token eUK98iEG8IR3+/DzyRf/12TccHIFEVmg=/fa/Gh12 and /etc/app/a.conf"
    assert [fact.value for fact in facts_of_text(text, "r", 20) if fact.name == "path"] == [
        "/etc/app/a.conf"
    ]


@pytest.mark.parametrize(
    ("text", "amount"), [("for 2,060.09 USD", "2,060.09 USD"), ("1,20,000 USD", "1,20,000 USD")]
)
def test_an_amount_is_a_whole_number(text: str, amount: str) -> None:
    assert [fact.value for fact in facts_of_text(text, "r", 20)] == [amount]
