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
# a call that is not recorded costs no more than one that is; before it was tried rarely it cost five to forty times as much
processor_seconds() { # FOLDER
	PMHOOK_OUT="$1" PMHOOK_MODE=full PMHOOK_MAX_MB=8192 PMHOOK_DEVICE=none PMHOOK_VERBOSE=off python3 - "$BUILD/bin/bench_calls" "$LIBRARY" <<-'END'
		import os, resource, subprocess, sys
		subprocess.run([sys.argv[1]], env=dict(os.environ, LD_PRELOAD=sys.argv[2]), stdout=subprocess.DEVNULL, check=True)
		used = resource.getrusage(resource.RUSAGE_CHILDREN)
		print(used.ru_utime + used.ru_stime)
	END
}
LIBRARY=$HOOK
umount disk
mkdir room
recorded=$(processor_seconds "$SCRATCH/room")
rm -r room
mount -t tmpfs -o size=256k tmpfs disk
lost=$(processor_seconds "$SCRATCH/disk")
echo "a bench of calls: $recorded s recorded, $lost s on a full disk"
awk "BEGIN { exit !($lost < 2 * $recorded + 0.1) }"
