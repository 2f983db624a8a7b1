#!/bin/sh
# The device memory that launches work on, by their arguments or by tables that are copied to the device: in the trace as the program that launches says it, whatever kind of memory and in
# each way to launch; not where PMHOOK_FLOW says so, and never part of an operation.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on

. "$SOURCE/tests/complain.sh"

# trace NAME ARGUMENT...: what the host says in NAME.said, and the trace's launches and copies in NAME.seen
trace() {
	name=$1
	shift
	mkdir "$name"
	PMHOOK_OUT=$SCRATCH/$name with_hook "$bin/touches_host" "$@" >"$name.said" || complain "$name: ends with $?"
	"$bin/pmanalyze" dump --records --csv "$name"/*.pmtrace >"$name.csv"
	python3 - "$name.csv" >"$name.seen" <<'END'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    if row["kind"] == "call" and any(word in row["function"] for word in ("Launch", "MemcpyAsync", "HtoDAsync")):
        print(row.get("touches", "") if "t" in row["flags"] else "not known")
END
}

for flow in sample all; do
	export PMHOOK_FLOW=$flow
	trace $flow
	cmp -s $flow.said $flow.seen || complain "$flow: $(diff $flow.said $flow.seen | cut -c 1-120 | head -n 8)"
done
trace threads threads
# launches that fell together with an allocation may not know
grep -v "not known" threads.seen >threads.known || true
head -n "$(wc -l <threads.known)" threads.said | cmp -s - threads.known || complain "threads: $(sort threads.seen | uniq -c | head)"
[ "$(wc -l <threads.seen)" = 2000 ] || complain "threads: $(wc -l <threads.seen) launches"
[ "$(wc -l <threads.known)" -gt 1000 ] || complain "threads: $(wc -l <threads.known) of 2000 launches are known"
# of what is captured between samples it is known
PMHOOK_FLOW=sample
trace captured captured
tail -n "$(wc -l <captured.said)" captured.seen | cmp -s captured.said - ||
	complain "captured: $(tail -n "$(wc -l <captured.said)" captured.seen | tr '\n' ' ')"
# memory of another process
mkfifo hold
"$bin/touches_host" give handle <hold &
giver=$!
exec 3>hold
while [ ! -s handle ]; do sleep 0.05; done
SOFTGPU_PROFILE=a100 SOFTGPU_NUMERICS=off trace opened open handle
exec 3>&-
wait $giver || complain "giver: ends with $?"
cmp -s opened.said opened.seen || complain "opened: $(diff opened.said opened.seen)"
PMHOOK_FLOW=off
trace off
[ "$(sort -u off.seen)" = "not known" ] || complain "off: $(sort off.seen | uniq -c | head -n 4)"
# the launches of one kernel are one operation, whatever they work on
for name in all off; do
	"$bin/pmanalyze" dump --ops --csv $name/*.pmtrace | grep -c cudaLaunchKernel >$name.count
done
cmp -s all.count off.count || complain "$(cat all.count) operations, $(cat off.count) without addresses"
exit $bad
