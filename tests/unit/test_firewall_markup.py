"""What summaries of HTML and XML show: links, cells, and elements."""

import pytest
from tests.firewall_made import envelope

from weft.firewall.summarise.html import readable
from weft.firewall.summarise.keyed import with_line_breaks
from weft_schemas.policy import FirewallRules

RULES = FirewallRules(threshold=200, summary_tokens=300)
RSS = '<?xml version="1.0"?>\n<rss version="2.0"><channel><title>News</title>\n' + "".join(
    f"<item>\n<title><![CDATA[Story & {n}]]></title>\n<link>https://news.org/{n}</link>\n"
    f"<guid>https://news.org/g/{n}</guid>\n<description><![CDATA[<p>Text <a href='#'>more</a></p>"
    "<div>x</div>]]></description>\n</item>\n"
    for n in range(40)
)
ORDERS = "<orders>" + "".join(
    f"<order id='{n}'><name>Ann {n}</name><url>https://x.org/{n}</url><total>{n}.50</total></order>"
    for n in range(60)
)


def test_cells_of_a_row_are_apart() -> None:
    page = "<table><tr><th>Code</th><th>Count</th></tr><tr><td>200<td>000<td></table>"
    assert readable(page) == "Code | Count\n200 | 000 |"


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("<p>See <a href='/full?a=1&amp;b=2'>the list</a>.</p>", "See [the list](/full?a=1&b=2)."),
        ('<p><a class=x href="https://x.org/1"><b>One</b></a></p>', "[One](https://x.org/1)"),
        ("<a href=/card><div>Card</div></a> after", "Card\n(/card) after"),
        ("<p>An <a href='/i'><img src='i.png'></a> icon</p>", "An (/i) icon"),
        ("<p><a href='#top'>up</a> <a href='javascript:x()'>go</a></p>", "up go"),
        ("<p><a href='/1'>one<a href='/2'>two</a></p>", "[one](/1)[two](/2)"),
        (f"<a href='/{'x' * 400}'>long</a>", f"[long](/{'x' * 299}…(+101 chars))"),
    ],
)
def test_a_links_address_stands_with_its_text(page: str, shown: str) -> None:
    assert readable(page) == shown


def test_a_feed_is_no_page_and_an_item_has_its_title_and_address() -> None:
    found = envelope(RSS, RULES)
    assert found.content_type == "application/xml"
    assert (
        "<item>\n<title><![CDATA[Story & 3]]></title>\n<link>https://news.org/3</link>\n"
        in found.summary
    )


def test_xml_without_line_breaks_is_shown_by_its_elements() -> None:
    found = envelope(ORDERS, RULES)
    assert found.content_type == "application/xml"
    for n in range(5):
        assert f" <order id='{n}'>\n  <name>Ann {n}</name>\n  <url>https://x.org/{n}</url>" in (
            found.summary
        )


FLAGS = "package='org.example.shop' checkable='false' clickable='true' enabled='true' on='true'"


def node(name: str, *inside: str) -> str:
    return f"<node id='{name}' kind='android.widget.LinearLayout' {FLAGS}>{''.join(inside)}</node>"


def test_tags_that_only_close_elements_take_no_room_of_others() -> None:
    rows = [[node(f"row-{n}-{at}", node("a"), node("b")) for at in range(5)] for n in range(3)]
    screen = node("screen", *(node(f"part-{n}", *held) for n, held in enumerate(rows)))
    summary = envelope(f"<hierarchy>{screen}</hierarchy>", RULES).summary
    assert "<node id='row-0-0'" in summary
    assert "\n  </node>" not in summary


def test_line_breaks_change_nothing_else() -> None:
    text = "<a><b k='1'/><c>x &amp; <i>y</i> z</c><!-- <d> --><d><![CDATA[<e> ]]></d></a>"
    written = with_line_breaks(text)
    assert "".join(map(str.strip, written.splitlines())) == text.replace("> z", ">z").replace(
        "&amp; <", "&amp;<"
    )
    assert "\n <d><![CDATA[<e> ]]></d>\n" in written


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("<div><p>one</p><p>two</p></div>" * 30, "text/html"),
        ("<?xml version='1.0'?><!DOCTYPE html><html><p>x</p><p>y</p></html>" * 20, "text/html"),
        ("<page><p>one</p><a>two</a><span>x</span></page>" * 30, "application/xml"),
    ],
)
def test_the_first_tag_tells_html_from_xml(text: str, form: str) -> None:
    assert envelope(text, RULES).content_type == form
