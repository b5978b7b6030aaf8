"""Of Kubernetes' objects those that say so are a Secret, and no object beside them."""

import json

import pytest

from weft.secrets.scanning import without_secrets

VALUE = "aHVudGVyMg=="
SECRETS = (
    f"apiVersion: v1\ndata:\n  x: {VALUE}\nkind: Secret\nmetadata:\n  name: a\n",
    f"kind: Secret\nmetadata:\n  name: a\ndata:\n  x: {VALUE}\n",
    f"items:\n- apiVersion: v1\n  data:\n    x: {VALUE}\n  kind: Secret\n- kind: Pod\n",
    f"items:\n  - kind: Secret\n    data:\n      x: {VALUE}\n",
    f"stringData:\n  x: {VALUE}\n",
    json.dumps({"kind": "Secret", "data": {"x": VALUE}}),
    json.dumps(
        {"items": [{"data": {"x": VALUE}, "metadata": {"a": {}}, "kind": "Secret"}]}, indent=2
    ),
)


@pytest.mark.parametrize("text", SECRETS)
def test_what_a_secret_holds_is_masked(text: str) -> None:
    assert VALUE not in without_secrets(text, b"")


OTHERS = (
    "kind: List\nitems:\n- kind: ConfigMap\n  data:\n    LOG_LEVEL: debug\n    REPLICAS: three\n"
    "- kind: Secret\n  metadata:\n    name: x\n",
    "kind: HelmRelease\nspec:\n  valuesFrom:\n  - kind: Secret\n    name: x\n  values:\n    data:\n"
    "      level: debug\n      zone: eu-west-1\n",
    json.dumps({"items": [{"kind": "ConfigMap", "data": {"L": "debug"}}, {"kind": "Secret"}]}),
    json.dumps({"involvedObject": {"kind": "Secret"}, "data": {"phase": "running"}}),
)


@pytest.mark.parametrize("text", OTHERS)
def test_what_stands_beside_a_secret_stays(text: str) -> None:
    assert without_secrets(text, b"") == text
