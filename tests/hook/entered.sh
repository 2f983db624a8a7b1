#!/bin/sh
# A process is killed in a call: its trace names the call, wherever in its thread's chunk it would have been recorded; killed
# outside of calls it names none.
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on PMHOOK_OUT="$SCRATCH"
bad=0
check() { # COUNT, HOW, what is said
	(PMHOOK_DEVICE=none with_hook "$BUILD/bin/entered_host" "$1" "$2") >/dev/null 2>&1 && { echo "not ok: $1 $2 was not killed" && bad=1; }
	"$BUILD/bin/pmanalyze" dump --json ./*.pmtrace | python3 -c '
import json, sys
trace = json.load(sys.stdin)
print(*(e["function"] for e in trace["entered"]), trace["records"])' >seen
	[ "$(cat seen)" = "$3" ] || { echo "not ok: $1 $2: seen: $(cat seen), expected $3" && bad=1; }
	rm ./*.pmtrace
}
# the first chunk has room for 252 records: what is looked for stands at its end, in the next one, and before both
for count in 0 100 243 244 245 246 247 248; do
	check $count inside "cudaStreamSynchronize $((count + 6))"
	check $count outside "$((count + 7))"
	check $count asked "$((count + 6))"
done

# the ranks of a job, and where in the program the call stands, by the report
for rank in 0 1; do
	[ $rank = 0 ] && how=inside || how=asked
	(RANK=$rank PMHOOK_DEVICE=none with_hook "$BUILD/bin/entered_host" 300 $how) >/dev/null 2>&1 || :
done
"$BUILD/bin/pmanalyze" hang --csv "$SCRATCH" | awk -F, 'NR > 1 && $1 != "communicator" && NF { sub(/ <.*/, "", $8); print $1, $2, $5, $6, $8 }' >seen
printf '0 gone in cudaStreamSynchronize main\n1 gone after cudaEventQuery main\n' >expected
diff -u expected seen || { echo "not ok: where the ranks stand" && bad=1; }
exit $bad
