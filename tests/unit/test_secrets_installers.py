"""The password that an installer makes is told once, in its log or on its console."""

import json
import random

import pytest
from tests.firewall_cases import ALNUM, HEX, body
from tests.firewall_made import KEY

from weft.firewall.guards import scan
from weft_schemas.policy import FirewallRules


def seen(text: str) -> str:
    return scan(text, FirewallRules(), KEY, 10).text


LOGS = (
    "6 [Note] [MY-010454] [Server] A temporary password is generated for root@localhost: {v}\n",
    "[Note] [Entrypoint]: GENERATED ROOT PASSWORD: {v}\n",
    "The generated password for the elastic built-in superuser is : {v}\n",
    "Password for the elastic user (reset with `bin/elasticsearch-reset-password -u elastic`):\n"
    "  {v}\n",
    "Password for the [elastic] user successfully reset.\nNew value: {v}\n",
    "Admin password changed successfully: {v}\n",
    "Using generated security password: {v}\n",
    "*****\nPlease use the following password to proceed to installation:\n\n{v}\n\nThis may also",
    "$ cat /var/jenkins_home/secrets/initialAdminPassword\n{v}\n",
    "$ docker exec nexus cat /nexus-data/admin.password\n{v}\n",
    "$ kubectl get secret g -o jsonpath='{{.data.admin-password}}' | base64 -d\n{v}\n",
    "$ argocd admin initial-password -n argocd\n{v}\n\n This password must be only used once",
    "rabbitmqctl add_user ada {v}\nrabbitmqctl change_password ada {v}",
    "msg='Bootstrap Password: {v}'",
)


@pytest.mark.parametrize("log", LOGS)
def test_the_password_that_an_installer_tells_is_masked(log: str) -> None:
    rng = random.Random(log)
    for _ in range(20):
        value = body(rng, ALNUM, 10) + rng.choice(("", "=", "+", "*", "-")) + body(rng, ALNUM, 10)
        text = log.format(v=value)
        assert value not in seen(text)
        assert value not in seen(json.dumps({"stdout": text, "exit": 0}))
        assert json.loads(seen(json.dumps({"stdout": text, "exit": 0})))["exit"] == 0


@pytest.mark.parametrize("value", ["gf%rSw0Mz;oWr", "Qr&tf_:wX7gq", "k.4iR/Zp>a9e"])
def test_signs_in_a_temporary_password_do_not_hide_it(value: str) -> None:
    assert value not in seen(f"A temporary password is generated for root@localhost: {value}")


def test_the_keys_of_a_new_vault_are_masked() -> None:
    rng = random.Random(1)
    first, second = body(rng, ALNUM, 44), body(rng, ALNUM, 44)
    text = seen(f"Unseal Key 1: {first}\nUnseal Key 2: {second}\n\nKey Threshold: 2")
    assert first not in text
    assert second not in text
    accessor = "-".join(body(rng, HEX, size) for size in (8, 4, 4, 4, 12))
    assert accessor not in seen(f"Accessor ID = x\nSecret ID    = {accessor}\nName = Bootstrap")


@pytest.mark.parametrize(
    "text",
    [
        "A temporary password is generated for root@localhost: check the error log",
        "A temporary password is generated for each user: see your inbox",
        "Password for user postgres: \npsql: error: connection failed",
        "Password for 'https://ada@github.com': \nremote: removed on August13, 2021.",
        "[sudo] password for deploy: \nHit:1 http://archive.ubuntu.com/ubuntu jammy",
        "cat /var/jenkins_home/secrets/initialAdminPassword\n# copy it into the browser",
        "The password was changed: log in again",
        "Unseal Key Shares: 5\nUnseal Progress: 1/3",
    ],
)
def test_what_is_only_said_of_a_password_stays(text: str) -> None:
    assert seen(text) == text
