#!/bin/sh
# Device times in stretches (PMHOOK_DEVICE_SHARE): all of the first minute, then half of the time; in a stretch each piece of work has its
# times, outside none has, and the calls are recorded all the time. Asked for by its name, or with a share of 100, a source has them always.
# The clock goes twenty times as fast.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
bad=0
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on PMHOOK_FILES=off FAST_CLOCK=20
HOOK=$BUILD/lib/libfast_clock.so:$HOOK

# run NAME stretches|always [VARIABLE=VALUE]...: with the hook, and looks at the trace
run() {
	name=$1 pieces=$2
	shift 2
	mkdir "$name"
	with_hook env PMHOOK_OUT="$SCRATCH/$name" "$@" "$bin/cupti_host" minutes >"$name.out" 2>&1 || {
		echo "not ok $name: ended with $?: $(cat "$name.out")"
		return 1
	}
	"$bin/pmanalyze" dump --json "$name"/*.pmtrace >"$name.json"
	"$bin/pmanalyze" dump --records --csv "$name"/*.pmtrace >"$name.csv"
	rm -r "$name"
	[ "$name" != events ] || grep -q 'device: a pair of events without work takes [0-9]* ns' "$name.json" || {
		echo "not ok $name: what a pair takes by itself is not said"
		return 1
	}
	python3 - "$name" "$pieces" <<'END'
import csv, json, sys
name, expected = sys.argv[1:]
made = [int(line.split()[1]) for line in open(name + ".out") if line.startswith("pieces")][0]
windows = json.load(open(name + ".json"))["device_windows"]
wrong = []
stretches, begin = [], 0
for window in windows:
    if window["what"] == "end":
        stretches.append((begin, window["at_ns"]))
        begin = None
    else:
        begin = window["at_ns"]
if begin is not None:
    stretches.append((begin, float("inf")))
work, intervals = [], {}
for row in csv.DictReader(open(name + ".csv")):
    if row["kind"] == "call" and row["function"] in ("cudaLaunchKernel", "cudaMemsetAsync"):
        work.append((int(row["start_ns"]), row["correlation"]))
    elif row["kind"] == "device" and row["correlation"] != "0":  # else its call came before CUPTI was on again
        intervals.setdefault(row["correlation"], []).append(int(row["start_ns"]))
if len(work) != made:
    wrong.append("%d of %d calls are recorded" % (len(work), made))
inside = lambda ns: any(begin <= ns < end for begin, end in stretches)
# a thread that loses the processor between two lines of the hook
slack = 3
timed = [ns for ns, correlation in work if correlation in intervals]
untimed = [ns for ns, correlation in work if correlation not in intervals]
if sum(not inside(ns) for ns in timed) > slack * len(stretches):
    wrong.append("%d calls outside of a stretch have times" % sum(not inside(ns) for ns in timed))
if sum(inside(ns) for ns in untimed) > slack * len(stretches):
    wrong.append("%d calls in a stretch have none" % sum(inside(ns) for ns in untimed))
known = {correlation for _, correlation in work}
stray = sum(len(each) for correlation, each in intervals.items() if correlation not in known)
if stray > slack * len(stretches):
    wrong.append("%d intervals are of no call" % stray)
if expected == "always":
    if windows or untimed:
        wrong.append("%d times it was turned, %d of %d calls have no times" % (len(windows), len(untimed), len(work)))
else:
    first = min(ns for ns, _ in work)
    last = max(ns for ns, _ in work)
    if len(windows) < 3 or any(window["share"] != 50 for window in windows):
        wrong.append("stretches: %s" % windows)
    elif not 59e9 < stretches[0][1] - first < 120e9:  # if it ends in a stretch, that is one with it
        wrong.append("the first is %.1f s long" % ((stretches[0][1] - first) / 1e9))
    else:
        share = sum(min(end, last) - begin for begin, end in stretches[1:]) / (last - stretches[0][1])
        # where in the periods the run begins is the wall clock's, and on this clock CUPTI's thread is late by seconds
        if not 0.1 < share < 0.9:
            wrong.append("%.0f%% of the time" % (100 * share))
if wrong:
    print("not ok %s: %s" % (name, "; ".join(wrong)))
sys.exit(bool(wrong))
END
}

# most of the time they sleep
jobs=
run cupti stretches PMHOOK_DEVICE=auto PMHOOK_DEVICE_SHARE=50 & jobs="$jobs $!"
run external stretches PMHOOK_DEVICE=auto PMHOOK_DEVICE_SHARE=50 PMHOOK_CUPTI_JOIN=external & jobs="$jobs $!"
run events stretches PMHOOK_DEVICE=auto PMHOOK_DEVICE_SHARE=50 SOFTGPU_CUPTI=taken & jobs="$jobs $!"
run whole always PMHOOK_DEVICE=auto PMHOOK_DEVICE_SHARE=100 & jobs="$jobs $!"
run asked always PMHOOK_DEVICE=cupti & jobs="$jobs $!"
for job in $jobs; do wait "$job" || bad=1; done
exit $bad
