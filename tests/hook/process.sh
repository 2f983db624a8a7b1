#!/bin/sh
# Runs test_process, which preloads the hook itself.
set -eu
. "$SOURCE/tests/preload.sh"
RUNTIME=$(sanitizer_runtime)
export RUNTIME ASAN_OPTIONS="detect_leaks=0"
"$@"
