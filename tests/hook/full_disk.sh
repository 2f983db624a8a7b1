#!/bin/sh
# On a disk that fills up a program goes on and ends as it does otherwise, and what is lost is counted; a trace of constant size
# becomes as large as there is room, with the last calls. Needs to mount a small file system, so root.
set -eu
. "$SOURCE/tests/preload.sh"
mkdir disk
if ! mount -t tmpfs -o size=256k tmpfs disk 2>/dev/null; then
	echo "cannot mount a small file system here"
	exit 77
fi
trap 'umount disk' EXIT
export PMHOOK_OUT="$SCRATCH/disk" PMHOOK_VERBOSE=on
with_hook "$1" limit 2>summary
cat summary
# 200,000 calls, of which some thousands had room
grep -q '200000 calls' summary
grep -Eq '\([1-9][0-9]+ lost\)' summary
umount disk

mount -t tmpfs -o size=2900k tmpfs disk # 1.2 MB of it for counts
PMHOOK_MODE=ring PMHOOK_RING_MB=64 with_hook "$1" limit 2>summary
cat summary
"$BUILD/bin/pmanalyze" dump --json disk/*.pmtrace >dump
of() {
	sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" dump | head -n 1
}
[ "$(of lost_records)" = 0 ]
[ "$(of dropped_calls)" -gt 100000 ]
left=$("$BUILD/bin/pmanalyze" dump --records --csv disk/*.pmtrace | awk -F, '$2 == "call" { calls++ } END { print calls + 0 }')
[ "$left" -gt 40000 ]
[ $((left + $(of dropped_calls))) = "$(of calls)" ]

[ -z "${PM_SANITIZE:-}" ] || exit 0
# Room is tried for once in a thousand calls that are not recorded: each try costs system calls, and a call cost up to forty times as much as
# one that is recorded when each of them tried (what it costs now: tests/bench/lost_cost.sh).
command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null || exit 0
umount disk
mount -t tmpfs -o size=256k tmpfs disk
PMHOOK_VERBOSE=off strace -f -c -e trace=fallocate -o tries -E LD_PRELOAD="$HOOK" "$1" limit
cat tries
tries=$(awk '$NF == "fallocate" { print $4 }' tries)
[ "$tries" -gt 10 ] && [ "$tries" -lt 400 ]
