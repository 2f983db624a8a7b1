#!/bin/sh
# Traces of constant size: ring.py says what is compared. ring.sh [trainer]
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on
runtime=$(sanitizer_runtime)
WITH="env LD_PRELOAD=${runtime:+$runtime:}$HOOK ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export WITH
exec python3 "$SOURCE/tests/hook/ring.py" "$BUILD/bin/counting_host" "$BUILD/bin/train_mlp" "$BUILD/bin/pmanalyze" "$@"
