#!/bin/sh
# Data loaders' workers leave no trace, and what they read is counted exactly in the trace of the process that they work for,
# however they were started; a worker that uses the device has a trace of its own. However a process ends, its trace has
# every call; where no trace can be written, the program goes on.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export PMHOOK_STRICT=on
data=$SCRATCH/data.bin
head -c 40000 /dev/zero >"$data"

. "$SOURCE/tests/complain.sh"

# add_up FACT FILE: the lines of a fact, sorted, those of calls added up
add_up() {
	awk -v fact="$1" '$1 == fact { if (fact == "call") n[$2] += $3; else print }
		END { for (name in n) print name, n[name] }' "$2" | sort
}

# run NAME STATUS COMMAND...: what it prints of itself, and what its traces say
run() {
	name=$1 status=0 expected=$2
	shift 2
	mkdir "$name"
	PMHOOK_OUT=$SCRATCH/$name with_hook "$@" >"$name.out" 2>"$name.err" || status=$?
	[ "$status" = "$expected" ] || complain "ends with $status instead of $expected: $(cat "$name.err")"
	"$bin/trace_look" $(find "$name" -name '*.pmtrace') >"$name.look"
	for fact in worker call traces; do
		add_up $fact "$name.out" >"$name.said"
		[ -s "$name.said" ] || continue
		add_up $fact "$name.look" >"$name.seen"
		cmp -s "$name.said" "$name.seen" || complain "$(diff "$name.said" "$name.seen" | tr '\n' ' ')"
	done
	grep -q '^lost [^0]' "$name.look" && complain "lost: $(grep '^lost' "$name.look")"
	return 0
}

one_trace() {
	grep -qx 'traces 1' "$name.look" || complain "$(head -n 1 "$name.look")"
}

for case in forked forked_nested spawned server nested early other_program short_threads; do
	run $case 0 "$bin/workers_host" $case "$data"
	one_trace
done
grep -q '^footer 3000 0 0 0 3000$' "$name.look" || complain "$(grep footer "$name.look")"
# a thread that makes one call takes its record and the head of a chunk, not a page
bytes=$(cat "$name"/*.pmtrace | wc -c)
[ "$bytes" -lt 500000 ] || complain "3000 threads with a call each take $bytes bytes"
run calling 0 "$bin/workers_host" calling "$data"
run alone 0 "$bin/workers_host" alone "$data"
run unread 0 env PMHOOK_FILES=off "$bin/workers_host" unread "$data"
one_trace

for case in terminated:143 killed:137 segmented:139 aborted:134 ended_at_once:9 ended_by_thread:9; do
	[ -z "$PM_SANITIZE" ] || [ $case != segmented:139 ] || continue
	run ${case%:*} ${case#*:} "$bin/workers_host" ${case%:*} "$data"
	one_trace
	grep -qx 'no footer' "$name.look" || complain "has a footer"
	"$bin/pmanalyze" dump "$name"/*.pmtrace >"$name.dump" 2>"$name.err" || complain "pmanalyze: $(cat "$name.err")"
	grep -q 'the end is missing' "$name.dump" || complain "pmanalyze does not say so"
done

# where no trace can be written: one line says so, and the program goes on
for folder in "$SCRATCH/no/where" "$data" /proc/self; do
	name=unwritable status=0
	PMHOOK_OUT=$folder with_hook "$bin/workers_host" forked "$data" >out 2>err || status=$?
	[ $status = 0 ] && grep -q '^call cudaStreamWaitEvent 20$' out || complain "$folder: ended with $status"
	[ "$(grep -c '^pmhook: .*nothing is recorded' err)" = 1 ] || complain "$folder: $(cat err)"
done

# workers in Python, started anew or by a launcher
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null || true)
if [ -n "$python" ] && [ -z "$PM_SANITIZE" ]; then
	run launcher 0 "$python" "$SOURCE/tests/hook/launch.py" 3 "$bin/workers_host" forked "$data"
	[ "$(grep '^rank' "$name.look" | sort | tr '\n' ' ')" = 'rank 0 3 rank 1 3 rank 2 3 ' ] || complain "ranks"
	[ -e "$name/workers_host.2.pmtrace" ] || complain "names: $(ls "$name")"
fi
exit $bad
