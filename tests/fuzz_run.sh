#!/bin/sh
# Fuzzes a reader by hand: fuzz_run.sh BUILD TARGET RUNS [SECONDS], where BUILD was configured with
#	cmake -B BUILD -G Ninja -DCMAKE_C_COMPILER=clang -DPM_FUZZ=ON -DPM_SANITIZE=address,undefined
# and TARGET is trace, imported, nsys, labelled, summary, table, space, model or cluster. Inputs that were worth keeping stay in
# BUILD/fuzz/TARGET, what broke the reader in BUILD/fuzz/TARGET-crash-*.
set -eu
build=$(realpath "$1") target=$2 runs=$3 seconds=${4:-3600}
source=$(realpath "$(dirname "$0")/..")
if [ ! -d "$build/fuzz/seeds" ]; then
	rm -rf "$build/fuzz/seeds.new"
	python3 "$source/tests/fuzz_seeds.py" "$build" "$build/fuzz/seeds.new"
	mv "$build/fuzz/seeds.new" "$build/fuzz/seeds"
fi
mkdir -p "$build/fuzz/$target"
cd "$build/fuzz"
# the limits are what other tests check; here they would end the program
export PM_READ_SECONDS=0 PM_READ_MEGABYTES=0
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 UBSAN_OPTIONS=print_stacktrace=1
exec "$build/bin/fuzz_$target" -runs="$runs" -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=3000 \
	-print_final_stats=1 -artifact_prefix="$target-crash-" "$target" "seeds/$target"
