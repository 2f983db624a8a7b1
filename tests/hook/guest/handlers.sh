#!/bin/sh
# Calls by handlers of signals that interrupt a hooked call: recorded where that is in its real function, counted under their cause where
# the hook itself was interrupted, or where the handler has a stack of its own.
set -eu
. "$SOURCE/tests/preload.sh"
host="$BUILD/bin/guest_host"
bad=0

complain() {
	echo "not ok $how, device times $source: $*"
	bad=1
}

# handler HOW: what the host printed in $calls; records of the function in $sets, lost ones in $lost
handler() {
	how=$1 status=0
	rm -rf traces
	mkdir traces
	PMHOOK_DEVICE=$source PMHOOK_VERBOSE=on PMHOOK_MAX_MB=512 PMHOOK_OUT="$SCRATCH/traces" with_hook timeout -s KILL 60 "$host" handler "$how" \
		>out 2>errors || status=$?
	calls=$(sed -n 's/ calls$//p' out)
	[ "$status" = 3 ] || complain "$status $(cat out errors)"
	grep -q ": $calls calls," errors || complain "$calls calls made: $(cat errors)"
	"$BUILD/bin/trace_look" traces/*.pmtrace >look
	sets=$(sed -n 's/^call cudaMemsetAsync //p' look)
	lost=$(sed -n 's/^loss HANDLERS //p' look)
	! grep '^loss' look | grep -qv HANDLERS || complain "$(grep '^loss' look | tr '\n' ' ')"
}

for source in none events; do
	handler inside
	[ "$calls" = 1101 ] && [ "${sets:-0}" = 1000 ] && [ -z "$lost" ] || complain "$calls calls, $sets of 1000 recorded, $lost lost"
	"$BUILD/bin/pmanalyze" dump --records --csv traces/*.pmtrace | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "flags") f = i }
		NR > 1 && $f ~ /l/ { n++ } END { exit n != 0 }' || complain "an interrupted call is said not to have returned"
	handler alternate
	[ "$calls" = 1101 ] && [ -z "$sets" ] && [ "${lost:-0}" = 1000 ] || complain "$calls calls, ${sets:-0} recorded, ${lost:-0} of 1000 lost"
done
source=none
handler anywhere
exit $bad
