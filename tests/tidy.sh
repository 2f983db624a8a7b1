#!/bin/sh
# clang-tidy has nothing to say of the components' sources, tests aside (.clang-tidy has its checks, and why these).
set -eu
if ! command -v clang-tidy >/dev/null; then
	echo "skipped: clang-tidy is missing"
	exit 77
fi
# gcc's options that clang does not know; it would stop at one
sed 's/ -fno-tree-loop-distribute-patterns//' "$BUILD/compile_commands.json" >"$SCRATCH/compile_commands.json"
sed -n 's/^  "file": "\(.*\)",\{0,1\}$/\1/p' "$SCRATCH/compile_commands.json" | sort -u |
	grep "^$SOURCE/\(preload\|analyzer\|fitter\|testapps\)/" | grep -v '/testapps/softgpu/tests/' >files
[ "$(wc -l <files)" -gt 300 ] || {
	echo "not ok: $(wc -l <files) sources in $BUILD/compile_commands.json"
	exit 1
}
if ! xargs -P "$(nproc)" -n 8 clang-tidy --quiet -p "$SCRATCH" --extra-arg=-Wno-unknown-warning-option <files >found 2>errors; then
	cat found
	grep -v 'warnings\{0,1\} .*generated' errors || true
	echo "not ok"
	exit 1
fi
