#!/bin/sh
# The counts at the end of a trace are those of its records, also where threads end while the process does. Repeats itself for
# $PM_STRESS_SECONDS, at least 100 times.
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on PMHOOK_OUT="$SCRATCH" PMHOOK_VERBOSE=on
bad=0
begin=$(date +%s)
round=0
expected=
while [ $round -lt 100 ] || [ $(($(date +%s) - begin)) -lt "$PM_STRESS_SECONDS" ]; do
	round=$((round + 1))
	device=events
	[ $((round % 10)) != 0 ] || device=none
	PMHOOK_DEVICE=$device with_hook "$BUILD/bin/ending_host" 1000 1 2>said
	calls=$(sed -n 's/^pmhook: process [0-9]*: \([0-9]*\) calls.*/\1/p' said)
	[ -n "$expected" ] || expected=$("$BUILD/bin/trace_look" ./*.pmtrace | awk '$1 == "call" { n += $3 } END { print n }')
	[ "$calls" = "$expected" ] || { echo "not ok: round $round, $device: $calls calls, recorded are $expected" && bad=1; }
	rm ./*.pmtrace
done
[ "$expected" -gt 2000 ] || { echo "not ok: $expected calls" && bad=1; }
exit $bad
