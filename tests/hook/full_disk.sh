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
