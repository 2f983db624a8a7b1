#!/bin/sh
# Checks every reader on its fuzz target's seeds, and on each of them cut short and with single bytes changed.
set -eu
"$PYTHON" "$SOURCE/tests/fuzz_seeds.py" "$BUILD" seeds
"$PYTHON" "$SOURCE/tests/fuzz_vary.py" seeds
for target in trace imported nsys labelled summary flight memory inspector table space model cluster; do
	echo "$target"
	timeout 120 "$BUILD/bin/fuzz_$target" "seeds/$target" || exit 1
done
