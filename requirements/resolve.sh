#!/bin/sh
# Whether each extra of pyproject.toml resolves alone, and all that are not for development together.
# Needs uv. UV may name its path.
set -eu
cd "$(dirname "$0")/.."
extras=$(sed -n '/^\[project.optional-dependencies\]/,/^\[project.scripts\]/s/^\([a-z-]*\) = \[.*/\1/p' pyproject.toml | grep -v '^dev$')
together=""
for extra in $extras; do
  "${UV:-uv}" pip compile -q --universal --python-version 3.11 --extra "$extra" pyproject.toml -o /dev/null
  echo "$extra alone: resolves"
  together="$together --extra $extra"
done
# shellcheck disable=SC2086
"${UV:-uv}" pip compile -q --universal --python-version 3.11 $together pyproject.toml -o /dev/null
echo "all together: they resolve"
