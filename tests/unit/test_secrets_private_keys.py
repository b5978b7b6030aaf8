"""A private key is masked from its first line to its last, however a program wrote its lines; what
only names the first line is no key."""

import json
import random
import string

import pytest
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules

EDGE = "-" * 5
BEGIN, END = f"{EDGE}BEGIN RSA PRIVATE KEY{EDGE}", f"{EDGE}END RSA PRIVATE KEY{EDGE}"
SSH2, STATIC = "SSH2 ENCRYPTED PRIVATE KEY", "OpenVPN Static key V1"
FORMS = {
    "a file": f"{BEGIN}\n{{a}}\n{{b}}\n{{c}}\n{END}\n",
    "windows": f"{BEGIN}\r\n{{a}}\r\n{{b}}\r\n{END}\r\n",
    "a header": f"{BEGIN}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{{h}}\n\n{{a}}\n{END}",
    "one line": f"key={BEGIN} {{a}} {{b}} {END} # old",
    "numbered": f"1: {BEGIN}\n2: {{a}}\n3: {{b}}\n4: {END}\n",
    "grep": f"id_rsa:1:{BEGIN}\nid_rsa-2-{{a}}\nid_rsa-3-{{b}}\n",
    "cat -n": f"   1\t{BEGIN}\n   2\t{{a}}\n   3\t{{b}}\n",
    "quoted mail": f"> {BEGIN}\n> {{a}}\n> {{b}}\n> {END}\n",
    "diff": f"+{BEGIN}\n+{{a}}\n+{{b}}\n+{END}\n",
    "a list": f'[\n "{BEGIN}",\n "{{a}}",\n "{{b}}",\n "{END}"\n]',
    "a sum of strings": f'"{BEGIN}\\n" +\n  "{{a}}\\n" +\n  "{{b}}\\n" +\n  "{END}"',
    "xml": f"<key>{BEGIN}&#10;{{a}}&#10;{{b}}&#10;{END}</key>",
    "a form": f"{BEGIN}%0A{{a}}%0A{{b}}%0A{END}",
    "ssh2": f"---- BEGIN {SSH2} ----\n{{a}}\n{{b}}\n---- END {SSH2} ----",
    "openvpn": f"{EDGE}BEGIN {STATIC}{EDGE}\n{{h}}\n{{i}}\n{EDGE}END {STATIC}{EDGE}\n",
    "cut off": f"{BEGIN}\n{{a}}\n{{b}}",
}


def pieces(rng: random.Random) -> dict[str, str]:
    signs = string.ascii_letters + string.digits + "+/"
    found = {name: "".join(rng.choices(signs, k=64)) for name in "ab"}
    found["c"] = "".join(rng.choices(signs, k=9)) + "="
    return found | {name: f"{rng.getrandbits(128):032x}" for name in "hi"}


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 10).text


@pytest.mark.parametrize("name", FORMS)
def test_a_key_is_masked_from_its_first_line_to_its_last(name: str) -> None:
    rng = random.Random(name)
    for _ in range(20):
        made = pieces(rng)
        text = FORMS[name].format(**made)
        for shown in (seen(f"first\n{text}\nlast"), json.loads(seen(json.dumps([text])))[0]):
            assert not any(value in shown for value in made.values())
            assert END not in shown
        assert seen(f"first\n{text}\nlast").startswith("first\n")
        assert seen(f"first\n{text}\nlast").endswith("last")


def test_a_list_of_its_lines_stays_a_list() -> None:
    body = json.dumps({"key": [BEGIN, *pieces(random.Random(1)).values(), END], "n": 1})
    shown = json.loads(seen(body))
    assert (len(shown["key"]), shown["n"]) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        f"The scanner found {BEGIN} in config/deploy.yaml, line 3. Total 12 files were scanned "
        "and 3 matched. The build then compiled 240 modules.\nNext: eu-west-1\nCount: 5\n",
        f"src/a.py:12:    if line.startswith('{BEGIN}'):\nsrc/b.py:3: x = 1\n",
        f"src/components/Login2/index.js:{BEGIN}\nsrc/components/Logout3/index.js:{BEGIN}\n",
        f"It begins with\n\n    {BEGIN}\n\nand ends with\n\n    {END}\n\nSet its mode to 600.\n",
        f"{BEGIN}\n...\n{END}\n",
    ],
)
def test_what_only_names_its_first_line_stays(text: str) -> None:
    assert seen(text) == text
