#!/bin/sh
# Prints an .env file for compose.yaml with a fresh password for every user of deploy/nats.
# Each starts with a letter: nats-server reads a value that starts with a digit as a number.
set -eu
for name in NATS_SYS_PASSWORD WEFT_ROUTE_PASSWORD WEFT_ADMIN_PASSWORD WEFT_FIREWALL_PASSWORD \
  WEFT_WORKER_PASSWORD WEFT_REPLICA_PASSWORD ACME_AGENT_PASSWORD ACME_ASSISTANT_PASSWORD \
  ACME_READER_PASSWORD ACME_OPERATOR_PASSWORD ACME_HTTP_TOKEN WEFT_FINGERPRINT_KEY; do
  printf '%s=p%s\n' "$name" "$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')"
done
