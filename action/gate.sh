#!/usr/bin/env bash
# Verifies the releases at $RELEASE_PATHS, one path a line, by $RELEASE_POLICY if it is given; what action.yml runs.
set -euo pipefail

paths=()
while IFS= read -r path; do
    [[ -z $path ]] || paths+=("$path")
done <<<"${RELEASE_PATHS:-.}"

policy=()
[[ -z ${RELEASE_POLICY:-} ]] || policy=(--policy "$RELEASE_POLICY")

exec "${PYTHON:-python}" -m indistinct gate "${policy[@]}" -- "${paths[@]}"
