#!/bin/sh
# Runs a test in an empty folder of its own, $SCRATCH, and removes the folder whatever happens.
set -eu
SCRATCH=$(mktemp -d)
export SCRATCH PM_STRESS_SECONDS="${PM_STRESS_SECONDS:-5}"
trap 'rm -rf "$SCRATCH"' EXIT
trap 'exit 1' INT TERM
cd "$SCRATCH"
status=0
case $1 in
*.sh) sh "$@" || status=$? ;;
*) "$@" || status=$? ;;
esac
exit $status
