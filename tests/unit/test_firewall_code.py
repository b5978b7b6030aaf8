"""Source code as an outline: what it names, and the lines that each thing spans."""

import pytest

from weft.firewall.detect import detect
from weft.firewall.form import Form
from weft.firewall.summarise.code import numbered_lines, outline, passages

C = """#include <stdio.h>

// Adds up what was paid.
static int total(order_t* orders, int count)
{
  int sum = 0;

  for(int at = 0; at < count; at++)
  {
    sum += orders[at].amount;

    if(sum < 0)
      return -1;
  }

  // Rounded, as the ledger does.
  return sum;
}

/* What is
 * still open. */
static int open_ones(order_t* orders)
{
  return match_all(orders, 0);
}
"""


def spans(text: str) -> dict[str, tuple[int, int]]:
    return {item.name: (item.first, item.last) for item in outline(numbered_lines(lines_of(text)))}


def lines_of(text: str) -> list[str]:
    return text.splitlines()


def test_a_definition_begins_with_its_comment_and_ends_with_its_last_line() -> None:
    assert spans(C) == {"total": (3, 18), "open_ones": (20, 25)}


def test_decorators_belong_to_what_they_decorate() -> None:
    assert spans("import os\n\n\n@cache\n@other\ndef f():\n    pass\n\n\ndef g():\n    pass\n") == {
        "f": (4, 7),
        "g": (10, 11),
    }


@pytest.mark.parametrize(
    "line", ["match parse(it)", "let x = f(it)", "elseif ready(it)", "and g(x)"]
)
def test_a_statement_is_no_definition(line: str) -> None:
    assert spans(f"def f():\n    {line}\n    {line}\n") == {"f": (1, 3)}


def test_long_definitions_tell_the_passages_of_their_body() -> None:
    body = "".join(f"    step_{n} = run({n})\n    use(step_{n})\n\n" for n in range(12))
    numbered = numbered_lines(lines_of(f"def f():\n{body}    # The end.\n    return 1\n"))
    found = passages(numbered, outline(numbered))
    assert [(part.name, part.first, part.last) for part in found[:3]] == [
        ("# The end.", 38, 39),
        ("step_0 = run(0)", 2, 3),
        ("step_1 = run(1)", 5, 6),
    ]
    assert len(found) == 13


def test_braces_alone_begin_no_passage() -> None:
    body = "".join(f"  int a{n} = {n};\n  use(a{n});\n\n" for n in range(20))
    numbered = numbered_lines(lines_of(f"static int f(int count)\n{{\n{body}}}\n"))
    found = passages(numbered, outline(numbered))
    assert [part.first for part in found] == [3 + 3 * n for n in range(20)]


def test_numbers_that_a_tool_wrote_are_kept() -> None:
    listed = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(lines_of(C), 650))
    assert spans(listed) == {"total": (652, 667), "open_ones": (669, 674)}


@pytest.mark.parametrize(
    "text",
    ["", "\n\n\n", "}\n}\n", "x", "def f():", "  \n" * 50, "# a\n# b\n"]
    + [f"{blank}\n}}\nf();\n" for blank in ("\xa0", "\u3000", "\u2003", "  \xa0;")],
)
def test_any_text_has_an_outline(text: str) -> None:
    numbered = numbered_lines(lines_of(text))
    found = outline(numbered)
    assert all(part.first <= part.last for part in [*found, *passages(numbered, found)])


def test_a_module_of_few_definitions_is_source_code() -> None:
    constants = "".join(f"NAME_{n} = {{'key': {n}, 'other': 'text of {n}'}}\n" for n in range(200))
    text = f'"""What it is for."""\n\nimport re\n\n{constants}\n\ndef last(x):\n    return x\n'
    assert detect(text).form is Form.CODE
