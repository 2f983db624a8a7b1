#!/bin/sh
# Runs a test program with the hook preloaded and its traces in the scratch folder.
set -eu
mkdir traces
export PMHOOK_OUT="$SCRATCH/traces" PMHOOK_STRICT=on
. "$SOURCE/tests/preload.sh"
with_hook "$@"
