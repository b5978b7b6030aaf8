"""In a table, the head of a column says that its values are secrets."""

import json
import random

import pytest
from tests.firewall_cases import ALNUM, body
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 10).text


TABLES = {
    "csv": "name,api_key,created\nada,{a},2026-01-01\nbob,{b},2026-01-02\n",
    "csv, last": "id,name,api_token\r\n1,ada,{a}\r\n2,bob,{b}\r\n",
    "csv, quoted": 'name,api_key,note\n"ada",{a},"a, b"\n"bob","{b}","c"\n',
    "tabs": "id\tpassword\tnote\n1\t{a}\tx\n2\t{b}\ty\n",
    "markdown": "| user | password |\n|------|---------|\n| ada | {a} |\n| bob | `{b}` |\n",
    "psql": " id | mail | api_token\n----+------+-----\n  1 | a@x  | {a}\n  2 | b@x  | {b}\n(2)\n",
    "mysql": "+----+----+\n| id | secret |\n+----+----+\n| 1 | {a} |\n| 2 | {b} |\n+----+----+\n",
    "insert": "INSERT INTO keys (id, api_key, n) VALUES (1, '{a}', 'it''s'),\n (2, '{b}', now());",
}


@pytest.mark.parametrize("name", TABLES)
def test_the_values_of_a_secrets_column_are_masked_and_the_others_stay(name: str) -> None:
    rng = random.Random(name)
    for _ in range(20):
        a, b = body(rng, ALNUM, 32), body(rng, ALNUM, 32)
        text = TABLES[name].format(a=a, b=b)
        shown = seen(f"query:\n{text}done")
        assert a not in shown
        assert b not in shown
        kept = text.replace(a, "").replace(b, "")
        without = shown.replace("query:\n", "").removesuffix("done")
        for mark in range(2):
            at = without.index("[secret:")
            without = without[:at] + without[without.index("]", at) + 1 :]
            assert mark < 2
        assert without == kept
        inside = json.loads(seen(json.dumps({"out": f"query:\n{text}", "n": 1})))
        assert a not in inside["out"]
        assert b not in inside["out"]
        assert inside["n"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "| option | token | default |\n|---|---|---|\n| a | required | none |\n| b | /x/y2 | 30s |",
        "| password | string | the one of the account |\n| port2 | integer3 | the port |",
        "from x509 import (\n    PrivateKey,\n    Ed25519PublicKey,\n    load_pkcs7_data,\n)\n",
        "use a password, token, secret\nor x25519key1234, y25519key1234, z25519key1234\n",
        "token,lemma,pos\nrunning,run,VERB\nH2O,h2o,NOUN\n",
        "day,token_count,next_token\n2026-01-01,123456789,b9f83hf8sXh2k1Qz\n",
        "id\ttoken_type\n1\tBearer2\n",
        "INSERT INTO t (id, token_count) VALUES (1, 1234567890123)",
    ],
)
def test_other_tables_stay(text: str) -> None:
    assert seen(text) == text
