"""A page as a tree of roles in lines: its navigation, banner and footer are beside what it says."""

import pytest
from tests.outlines import beside, outline

LINKS = ("Home", "Sports", "Places", "Prices", "News", "Jobs", "Contact", "Log in")
FIELDS = ("Name", "Telephone", "Code")


def bare(is_wide: bool = False) -> str:
    """As some agents' own tools write it."""
    more = " of the sports halls of the town" * is_wide
    nav = "".join(f'  [n{n}] link "{name}{more}"\n' for n, name in enumerate(LINKS))
    form = "".join(f'  [q{n}] textbox "{name}" value=""\n' for n, name in enumerate(FIELDS))
    return (
        f"URL: https://a.example\n- navigation\n{nav}- main\n"
        f'  heading "Your data" level=1\n{form}  [q9] button "Pay"\n'
        f'- contentinfo\n  [z1] link "Privacy"\n  [z2] link "Cookies"\n'
    )


def playwright() -> str:
    nav = "".join(f'      - link "{name}" [ref=e1{n}]\n' for n, name in enumerate(LINKS))
    form = "".join(f'      - textbox "{name}" [ref=e2{n}]\n' for n, name in enumerate(FIELDS))
    return (
        "- generic [ref=e2]:\n  - banner [ref=e3]:\n"
        f'    - navigation "Main" [ref=e4]:\n{nav}  - main [ref=e5]:\n'
        f'    - heading "Your data" [level=1] [ref=e6]\n    - group [ref=e7]:\n{form}'
        '      - button "Pay" [ref=e29]\n'
        '  - contentinfo [ref=e8]:\n    - link "Privacy" [ref=e30]\n'
    )


def devtools() -> str:
    nav = "".join(f'    uid=1_{n} link "{name}"\n' for n, name in enumerate(LINKS))
    form = "".join(f'    uid=2_{n} textbox "{name}"\n' for n, name in enumerate(FIELDS))
    return (
        f'uid=0_1 RootWebArea "Data"\n  uid=0_2 navigation "Main"\n{nav}'
        f'  uid=0_3 main\n    uid=0_4 heading "Your data"\n{form}    uid=2_9 button "Pay"\n'
        '  uid=0_5 complementary\n    uid=3_1 link "Privacy"\n'
    )


@pytest.mark.parametrize("tree", [bare(), bare(is_wide=True), playwright(), devtools()])
def test_what_is_in_other_landmarks_is_beside_the_page(tree: str) -> None:
    found = beside(tree)
    assert [name for name in (*LINKS, "Privacy") if name not in found] == []
    assert [name for name in ("URL", "Your data", *FIELDS, "Pay") if name in found] == []


def test_a_leaf_that_is_divided_counts_its_lines() -> None:
    assert sum(leaf.count for leaf in outline(bare()).leaves) == len(bare().splitlines())


SETTINGS = (
    "title: A site\nmain:\n  theme: dark\nnavigation:\n"
    + "".join(f"  - {name}: /{name.lower()}\n" for name in LINKS)
    + "footer:\n  text: 'All rights'\n"
    + "".join(f"  key_{n}: {n}\n" for n in range(20))
)


@pytest.mark.parametrize(
    "text",
    [
        bare().replace("- main\n", "- group\n"),
        playwright().replace("- main [ref=e5]", "- group [ref=e5]"),
        SETTINGS,
        "main thing\n" + bare().replace("- main\n", "") + "the main\n",
        bare().replace("- navigation", "- navigation of the ship"),
    ],
)
def test_without_a_main_landmark_and_a_tree_nothing_is_beside(text: str) -> None:
    assert "Home" not in beside(text)


def test_a_landmark_around_the_main_one_is_none() -> None:
    text = playwright().replace("- generic", "- complementary")
    found = beside(text)
    assert "Your data" not in found
    assert "Pay" not in found
