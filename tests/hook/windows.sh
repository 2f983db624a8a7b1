#!/bin/sh
# Windows of recording: exactly the iterations asked for are in the trace, in programs whose iterations are hard to tell; the
# program's own profiler calls and signals open and close; what cannot be done is said in the trace. And the trainers' windows.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export PMHOOK_STRICT=on PMHOOK_FLOW=all # addresses say which iteration a call is of

. "$SOURCE/tests/complain.sh"

# expect CASE WINDOW "FROM TO CALLS"... [LINE]...: these iterations are there, each with so many calls, and no others; each LINE is too
expect() {
	name=$1_$2
	mkdir "$name"
	PMHOOK_OUT=$SCRATCH/$name PMHOOK_WINDOW=$2 with_hook "$bin/windows_host" "$1" || complain "ended with $?"
	for trace in "$name"/*.pmtrace; do "$bin/windows_host" look "$trace"; done >"$name.look"
	shift 2
	: >"$name.expected"
	for range; do
		case $range in
		[0-9]*) echo "$range" | awk '{ for (i = $1; i <= $2; i++) print "iteration", i, $3 }' >>"$name.expected" ;;
		*) grep -qx "$range" "$name.look" || complain "no '$range': $(grep -v '^iteration' "$name.look" | tr '\n' ';')" ;;
		esac
	done
	grep '^iteration' "$name.look" | cmp -s - "$name.expected" ||
		complain "iterations: $(grep '^iteration' "$name.look" | diff - "$name.expected" | head -n 6 | tr '\n' ' ')"
}

expect plain 40-44 '40 44 20' 'window 1 40' 'window 0 44' 'other 0'
expect plain 10 '10 10 20' 'window 1 10' 'window 0 10'
expect plain 95-1000 '95 100 20' 'other 0'
expect layers 40-41 '40 41 1207' 'other 0'
expect first 10-11 '10 11 30' 'other 0'
expect epochs 50-52 '50 52 30' 'other 0'
expect epochs 98-100 '98 100 30' 'window 0 100' 'other 0'
expect long 8-9 '8 9 3000' 'other 0'
expect steps 20-21 '20 21 206' 'other 0'
# nothing says where an iteration begins
expect synthetic 80-81 '79 79 406' '80 80 500' '81 81 94' 'window 1 80' 'window 0 81' 'other 0'
expect threads 40-41 '40 41 30' 'other 0'
expect profiler profiler '5 7 20' '12 14 20' 'window 1 0' 'window 0 0' 'other 0'
expect signal signal:USR2 '5 7 20' 'window 1 0' 'window 0 0'
expect signal_forked signal:USR2 '5 7 20'
[ -z "$(grep '^note' signal_forked_signal:USR2.look | grep -v '^note processors:')" ] || complain "$(grep '^note' signal_forked_signal:USR2.look | grep -v '^note processors:')"

# what cannot be
expect plain 1-3 'note warning: the window of PMHOOK_WINDOW had passed when the first iteration was detected, number [0-9]*' 'other 0'
expect plain 200-300 'note warning: the program ended before the window of PMHOOK_WINDOW' 'other 0'
expect irregular 40-42 'note warning: no iterations detected.*' 'other 0'
expect signal_taken signal:USR2 'note warning: the signal of PMHOOK_WINDOW is unavailable.*' 'other 0'
for wrong in 5-3 0-3 -5 3-x x 3- 1-2-3 signal signal:KILL; do
	expect profiler $wrong '1 20 20' "note warning: PMHOOK_WINDOW: expected .*, found '$wrong'; using the default"
done

# other threads call all the time
expect restless profiler '11 12 20' '21 22 20' '31 32 20' '41 42 20' '51 52 20' '61 62 20' '71 72 20' '81 82 20' '91 92 20'

# the trainers: five iterations make five times the calls that one iteration more makes
export LD_LIBRARY_PATH="$BUILD/softgpu"
"$bin/mkdata" --dataset mnist --out data --train 900 --test 50
# calls OUT ITERATIONS WINDOW: runs $trainer; its calls are in OUT.calls
calls() {
	mkdir "$1"
	PMHOOK_OUT=$SCRATCH/$1 PMHOOK_WINDOW=$3 with_hook "$bin/$trainer" --data data --batch 16 --epochs 1 --print 0 \
		--iterations "$2" >/dev/null
	"$bin/trace_look" "$1"/*.pmtrace >"$1.look"
	grep '^call' "$1.look" >"$1.calls" || true
}
for trainer in train_mlp train_cnn; do
	name=$trainer
	calls ${trainer}_30 30 all
	calls ${trainer}_31 31 all
	calls ${trainer}_window 31 20-24
	awk 'FILENAME ~ /_30/ { n[$2] = $3; next } $3 > n[$2] { print $1, $2, 5 * ($3 - n[$2]) }' ${trainer}_30.calls \
		${trainer}_31.calls >$trainer.expected
	[ -s $trainer.expected ] || complain "no iterations"
	cmp -s $trainer.expected ${trainer}_window.calls ||
		complain "window: $(diff $trainer.expected ${trainer}_window.calls | head -n 6 | tr '\n' ' ')"
	grep -qx 'window 1 20' ${trainer}_window.look || complain "does not begin with 20"
	! grep '^outside' ${trainer}_window.look || complain "records outside"
	"$bin/pmanalyze" report ${trainer}_window >report 2>&1 || complain "pmanalyze: $(cat report)"
	! grep 'belong to no call' report || complain "device times of calls outside"
	"$bin/pmanalyze" report --csv --iterations ${trainer}_window >iterations.csv
	[ "$(grep -c ',iteration,' iterations.csv)" -ge 4 ] || complain "$(grep -c ',iteration,' iterations.csv) iterations in the report"
done
exit $bad
