#!/bin/sh
# On a disk that fills up a program goes on and ends as it does otherwise, and what is lost is counted. Needs to mount a small
# file system, so root.
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
