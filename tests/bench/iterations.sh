#!/bin/sh
# How often iterations are right, by the confidence that is given: iterations.sh BUILD [PROGRAMS]. Made-up programs, whole and cut out at
# random (test_search); PyTorch loops that mark their own, where PM_TORCH has torch; real traces with markers, where PM_TRACES
# names their folder: what is found without the markers, and the share of the computations in the same iteration.
set -u
build=$(realpath "$1") source=$(realpath "$(dirname "$0")/../..")
"$build/bin/test_search" "${2:-4000}" 10001
if [ -n "${PM_TORCH:-}" ]; then
	echo
	work=$(mktemp -d)
	(cd "$work" && SOURCE=$source BUILD=$build "$source/tests/pytorch/iterations.sh")
	rm -rf "$work"
fi
[ -n "${PM_TRACES:-}" ] || exit 0
printf '\n%-36s%8s%7s  %-8s%10s\n' trace markers found by agreement
for traces in "$PM_TRACES"/*/traces; do
	"$build/bin/pmanalyze" report --json "$traces" 2>/dev/null | python3 -c '
import json, sys
try:
    run = json.load(sys.stdin)
except ValueError:
    sys.exit()
if "sequence_iterations" in run:
    print("%-36s%8d%7d  %-8s%9.1f%%" % (sys.argv[1], run["iterations_found"], run["sequence_iterations"], run["sequence_found_by"],
                                     100 * run["markers_agreement"]))' "$(basename "$(dirname "$traces")")"
done
