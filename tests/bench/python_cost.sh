#!/bin/sh
# What it costs to know the line of Python that a launch is made in: launches of a library that returns at once, by Python's first thread,
# whose lines are read, and by another; without the hook, without Python's names, and with them, interleaved in several rounds. Prints
# ns per launch, of each the median over the rounds. Device time is off.
#
#     tests/bench/python_cost.sh BUILD [ROUNDS]
set -eu
build=$(realpath "${1:?usage: python_cost.sh BUILD [ROUNDS]}")
rounds=${2:-5}
case=$(realpath "$(dirname "$0")")/python_cost.py
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python=$(python3 -c 'import sys; print(sys.executable)') # what is called so may be a script that finds the interpreter
null=$build/tests/libnull.so
export PMHOOK_DEVICE=none PMHOOK_FLOW=off PMHOOK_FILES=off PMHOOK_OUT="$scratch" PYTHONDONTWRITEBYTECODE=1
for round in $(seq "$rounds"); do
	LD_PRELOAD=$null "$python" "$case" "$build/lib/libbench_python.so" | paste -s -d ' ' - >>"$scratch/none"
	for names in off on; do
		PMHOOK_PYTHON=$names LD_PRELOAD=$build/lib/libpmhook.so:$null "$python" "$case" "$build/lib/libbench_python.so" |
			paste -s -d ' ' - >>"$scratch/$names"
		rm "$scratch"/*.pmtrace
	done
done

# median FILE COLUMN
median() {
	sort -n -k"$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'
}
printf '%-28s %9s %9s %9s %9s\n' "ns per launch" "no hook" "off" "on" "added"
column=0
for thread in "the first thread" "another thread"; do
	column=$((column + 1))
	echo "$(median "$scratch/none" $column) $(median "$scratch/off" $column) $(median "$scratch/on" $column)" |
		awk -v thread="$thread" '{ printf "%-28s %9.1f %9.1f %9.1f %9.1f\n", thread, $1, $2, $3, $3 - $2 }'
done
