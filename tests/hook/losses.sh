#!/bin/sh
# Whatever is not recorded is counted under its cause, and what is gone is forgotten: captures that fail, devices that are reset, streams
# destroyed with work in them, more than there are places for. The CUDA here ends whoever touches a handle that is gone.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export PMHOOK_STRICT=on PMHOOK_DEVICE=events

. "$SOURCE/tests/complain.sh"

# run NAME STATUS COMMAND...: what the trace says is then in NAME.look
run() {
	name=$1 wanted=$2 status=0
	shift 2
	mkdir "$name"
	PMHOOK_OUT=$SCRATCH/$name with_hook "$@" >"$name.out" 2>&1 || status=$?
	[ $status = "$wanted" ] || complain "ends with $status: $(cat "$name.out")"
	[ "$wanted" != 0 ] || [ ! -s "$name.out" ] || complain "$(cat "$name.out")"
	"$bin/trace_look" "$name"/*.pmtrace >"$name.look" || complain "no trace"
}

# tells FACTS: the trace has these lines, separated by `,`, and no other losses; the footer's sum of times is that of the causes
tells() {
	echo "$1" | tr , '\n' | sed 's/^ *//' >"$name.facts"
	while read -r fact; do
		grep -qx "$fact" "$name.look" || complain "no '$fact': $(grep -E "^(device|loss|footer|used|source)" "$name.look" | tr '\n' ',')"
	done <"$name.facts"
	grep '^loss ' "$name.look" | sort >"$name.losses" || true
	grep '^loss ' "$name.facts" | sort | cmp -s - "$name.losses" || complain "losses: $(tr '\n' ',' <"$name.losses")"
	times=$(awk '$2 !~ /^(STREAMS|OPERATIONS|COMMUNICATORS)$/ { n += $3 } END { print n + 0 }' "$name.losses")
	grep -qE "^footer [0-9]+ 0 $times 0 |^no footer" "$name.look" || complain "the footer does not add up: $(grep footer "$name.look")"
}

# case NAME FACTS
case_of() {
	run "$1" 0 "$bin/losses_host" "$1"
	tells "$2"
}

case_of plain 'device cudaMemsetAsync 20, source 1'
case_of broken_capture 'device cudaMemsetAsync 20'
case_of wrong_stream 'call cudaMemsetAsync 28, device cudaMemsetAsync 20, loss BESIDE_CAPTURE 5'
case_of wrong_thread 'call cudaMemsetAsync 23, device cudaMemsetAsync 20'
case_of global_capture 'call cudaMemsetAsync 204, device cudaMemsetAsync 201'
case_of destroyed_capture 'device cudaMemsetAsync 20'
case_of reset_capture 'device cudaMemsetAsync 20'
case_of captures_of_threads 'device cudaMemsetAsync 20'
case_of reset 'call cudaMemsetAsync 52, device cudaMemsetAsync 45, loss RESET 7'
case_of reset_often 'device cudaMemsetAsync 1500'
case_of other_device 'device cudaMemsetAsync 20'
case_of contexts 'call cudaMemsetAsync 35, device cudaMemsetAsync 30, loss RESET 5'
case_of primary 'device cudaMemsetAsync 20'
case_of devices 'call cudaMemsetAsync 140, device cudaMemsetAsync 128, loss DEVICES 12'
case_of short_streams 'device cudaMemsetAsync 100, used_queues 50'
case_of long_group 'call ncclAllReduce 100, device ncclAllReduce 2'
case_of wide_group 'call ncclAllReduce 140, device ncclAllReduce 64, loss GROUPS 12'
case_of ended_thread 'call cudaMemsetAsync 27, device cudaMemsetAsync 20, loss THREAD_END 7'
case_of at_exit 'call cudaMemsetAsync 7, loss EXIT 7'
case_of error_pending 'call cudaMemsetAsync 12, device cudaMemsetAsync 8, loss PENDING_ERROR 3, loss EVENTS 1' # the stream that is none
case_of in_flight 'call cudaMemsetAsync 1100, device cudaMemsetAsync 1024, loss IN_FLIGHT 76'
case_of streams_without_end 'device cudaMemsetAsync 5000, used_queues 4096, loss STREAMS 904'
export PMHOOK_DEVICE=none
case_of operations 'call cudaMemsetAsync 70000, loss OPERATIONS 12656'
case_of unknown_communicator 'call ncclAllReduce 3, loss COMMUNICATORS 3'
# of many causes each has its own; with a place for descriptor 5000 at all
export PMHOOK_MAX_MB=2
run both_limits 0 "$bin/losses_host" operations
[ "$(awk '$1 == "loss" && $2 != "DICTIONARY" { printf "%s ", $2 }' both_limits.look)" = "SIZE_LIMIT OPERATIONS " ] ||
	complain "$(grep ^loss both_limits.look | tr '\n' ' ')"
unset PMHOOK_MAX_MB
[ "$(ulimit -n)" -gt 5000 ] || ulimit -n 5001 2>/dev/null || true
[ "$(ulimit -n)" -le 5000 ] || {
	run descriptors 0 "$bin/losses_host" descriptors
	grep -qx 'loss FILES 3' descriptors.look || complain "$(grep ^loss descriptors.look)"
}
export PMHOOK_DEVICE=events
run killed 137 "$bin/losses_host" killed
tells 'no footer, loss IN_FLIGHT 76'

# CUDA is loaded after the first hooked call; and one that cannot time anything
run late 0 "$bin/late_host" "$BUILD/strict_cuda/libcudart.so.13"
tells 'device cudaMemsetAsync 20, source 1'
run untimed 0 "$bin/late_host" "$BUILD/strict_cuda_untimed/libcudart.so.13"
tells 'call cudaMemsetAsync 20, source 0, loss NO_SOURCE 20'
export PMHOOK_DEVICE=none
run unwanted 0 "$bin/late_host" "$BUILD/strict_cuda/libcudart.so.13"
tells 'call cudaMemsetAsync 20, source 0'

# each cause is in the report, with its number; without losses there is nothing
for said in wide_group:12 reset:7 killed:76; do
	name=${said%:*}
	"$bin/pmanalyze" dump "$name"/*.pmtrace >"$name.dump" 2>&1 || complain "$(tail -n 1 "$name.dump")"
	grep -q "lost device times (${said#*:}: " "$name.dump" || complain "the dump does not say it"
	"$bin/pmanalyze" report "$name" >"$name.report" 2>&1 || true
	tr -s '\n ' ' ' <"$name.report" | grep -q " ${said#*:} device times were lost: .*(${said#*:}: " || complain "the report does not say it: $(cat "$name.report")"
	# below the name of the run, and that the end is missing, before all else
	[ "$(sed -n '2,4s/^Lost: \([0-9]* device times\) .*/\1/p' "$name.report")" = "${said#*:} device times" ] ||
		complain "the report does not begin with it: $(head -n 3 "$name.report")"
	"$bin/pmanalyze" report --json "$name" 2>&1 | tr -d ' \t\n' | grep -q "\"losses\":\[{\"what\":\"devicetimes\".*\"count\":${said#*:}}\]" ||
		complain "JSON does not say it"
done
name=plain
! "$bin/pmanalyze" dump plain/*.pmtrace | grep '  lost' || complain "losses of nothing"
! "$bin/pmanalyze" report plain 2>&1 | grep '^Lost' || complain "the report begins with losses of nothing"

# what the hook says it took is never more than the run, however many threads wait for a processor
export PMHOOK_DEVICE=events
for i in 1 2 3; do
	run crowd$i 0 "$bin/losses_host" crowd
	"$bin/pmanalyze" report --json crowd$i 2>&1 | sed -n 's/.*"share":[^0-9]*\([0-9.e-]*\).*/\1/p' >share
	awk '{ said = 1; over = $1 > 1 } END { exit !said || over }' share || complain "of the run it took $(cat share)"
done
exit $bad
