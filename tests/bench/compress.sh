#!/bin/sh
# Whether compressing a trace's chunks would pay: how small zstd and lz4 make the trace of a trainer, and how long they take per record,
# beside what the hook takes for it. Needs zstd and lz4; prints what is there.
#
#     tests/bench/compress.sh BUILD
set -eu
build=$(cd "${1:?usage: compress.sh BUILD}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export LD_LIBRARY_PATH="$build/softgpu" PMHOOK_OUT="$scratch" PMHOOK_DEVICE=none
"$build/bin/mkdata" --dataset mnist --out data --train 2000 --test 50
LD_PRELOAD="$build/lib/libpmhook.so" "$build/bin/train_mlp" --data data --batch 8 --epochs 8 --print 0 >/dev/null
bytes=$(stat -c %s ./*.pmtrace)
records=$("$build/bin/pmanalyze" dump --json ./*.pmtrace | sed -n 's/.*"records":[^0-9]*\([0-9]*\).*/\1/p' | head -n 1)
echo "one rank: $records records, $bytes bytes, $(awk "BEGIN { printf \"%.1f\", $bytes / $records }") bytes a record with its descriptions"
for tool in "lz4 -1" "zstd -1" "zstd -3"; do
	command -v "${tool% *}" >/dev/null || continue
	begin=$(date +%s%N)
	for _ in 1 2 3 4 5; do
		# shellcheck disable=SC2086
		$tool -q -c ./*.pmtrace >packed
	done
	end=$(date +%s%N)
	echo "$tool: $(awk "BEGIN { printf \"%.1f times smaller, %.1f ns a record\", $bytes / $(stat -c %s packed), ($end - $begin) / 5 / $records }")"
done
