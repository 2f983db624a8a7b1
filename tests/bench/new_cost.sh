#!/bin/sh
# What it costs to describe a new operation: us of each, time that goes by, in the mean and without the first hundred, whose frames have no
# names yet; and its system calls, where strace may trace. Operations are new by their size; from C, and from Python's modules within
# modules, on a library that returns at once. Then PyTorch's small GPT on softgpu, where PM_TORCH has it (tests/pytorch/find_torch.sh): all of
# its operations, beginning with the first. Of the rounds the least. Device time is off but for PyTorch.
#
#     tests/bench/new_cost.sh BUILD [ROUNDS]
set -eu
build=$(realpath "${1:?usage: new_cost.sh BUILD [ROUNDS]}")
rounds=${2:-5}
here=$(realpath "$(dirname "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export PMHOOK_FILES=off PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 SOURCE="$here/../.."
python=$(python3 -c 'import sys; print(sys.executable)')
python_host="$python -S $here/../hook/syscalls.py $build/lib/libsyscalls_library.so"
libraries=$build/lib/libpmhook.so:$build/tests/libnull.so

# described: operations of the trace, and ns that went by for them
described() {
	"$build/bin/pmanalyze" dump --json traces/*.pmtrace | python3 -c '
import json, sys
trace = json.load(sys.stdin)
trace = trace[0] if isinstance(trace, list) else trace
def find(of, key):
    if isinstance(of, dict):
        return of[key] if key in of else next((n for n in (find(v, key) for v in of.values()) if n is not None), None)
    if isinstance(of, list):
        return next((n for n in (find(v, key) for v in of) if n is not None), None)
print(find(trace, "new_ns"))'
}

# run COMMAND...: ns for what is new, the least of the rounds
run() {
	for _ in $(seq "$rounds"); do
		rm -rf traces
		mkdir traces
		PMHOOK_DEVICE=none PMHOOK_OUT=traces LD_PRELOAD=$libraries "$@" >/dev/null
		described
	done | sort -n | head -n 1
}

# calls COMMAND...: its system calls
calls() {
	rm -rf traces
	mkdir traces
	PMHOOK_DEVICE=none PMHOOK_OUT=traces strace -f -c -E LD_PRELOAD="$libraries" -o calls "$@" >/dev/null
	awk '$NF == "total" { print $4 }' calls
}

printf '%-16s %12s %12s %12s\n' "" "us, mean" "us, later" "system calls"
for case in C Python; do
	host="$build/bin/syscalls_host"
	[ $case = C ] || host=$python_host
	# shellcheck disable=SC2086
	few=$(run $host fresh 100) all=$(run $host fresh 2100) system=-
	if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
		# shellcheck disable=SC2086
		system=$(awk -v few="$(calls $host fresh 100)" -v all="$(calls $host fresh 2100)" 'BEGIN { printf "%.2f", (all - few) / 2000 }')
	fi
	awk -v case="$case" -v few="$few" -v all="$all" -v its="$system" \
		'BEGIN { printf "%-16s %12.2f %12.2f %12s\n", case, all / 2100 / 1000, (all - few) / 2000 / 1000, its }'
done
(. "$here/../pytorch/find_torch.sh" >/dev/null && echo "$PYTHON") >torch || exit 0
rm -rf traces
PATH="$build/bin:$PATH" pmrun -q --softgpu=a100 -o traces -- "$(cat torch)" "$here/../pytorch/train.py" gpt --steps 10 --batch 2 >/dev/null 2>&1
operations=$("$build/bin/pmanalyze" dump --ops traces/*.pmtrace | awk '/^Operations/ { on = 1 } on && $1 ~ /^[0-9]+$/ && $2 > 0 { n++ } END { print n }')
described | awk -v n="$operations" '{ printf "%-16s %12.2f    (%d operations)\n", "PyTorch", $1 / n / 1000, n }'
