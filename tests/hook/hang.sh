#!/bin/sh
# hang.py: one seed of each fault with four ranks, or what is given.
set -eu
. "$SOURCE/tests/preload.sh"
HANG_PRELOAD=$(sanitizer_runtime) python3 "$SOURCE/tests/hook/hang.py" "$@"
