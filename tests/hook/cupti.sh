#!/bin/sh
# Device time from CUPTI: every kernel, copy and set has its interval with the right call, the same times as events tell; CUPTI
# is not taken from another tool, and given to one that comes; a CUPTI that is absent, unknown or stuck does no harm.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on

. "$SOURCE/tests/complain.sh"

# run NAME [VARIABLE=VALUE]... -- COMMAND...: with the hook; then what its trace says is in NAME.look
run() {
	name=$1 settings=
	shift
	while [ "$1" != -- ]; do
		settings="$settings $1"
		shift
	done
	shift
	mkdir "$name"
	# shellcheck disable=SC2086
	with_hook env PMHOOK_OUT="$SCRATCH/$name" PMHOOK_DEVICE=auto $settings "$@" >"$name.out" 2>&1 ||
		complain "ended with $?: $(cat "$name.out")"
	# of a process and its child the process's: names end in process numbers, of different lengths now and then
	# shellcheck disable=SC2046
	set -- $(ls -v "$name"/*.pmtrace)
	"$bin/cupti_look" "$1" >"$name.look"
}

# has LINE: the trace says so; hasnot LINE
has() {
	grep -q "^$1" "$name.look" || complain "no '$1': $(grep -v "^call\|^activity" "$name.look" | tr '\n' ';')"
}
hasnot() {
	if grep -q "^$1" "$name.look"; then complain "has '$1'"; fi
}

# total KIND NAME COUNT: so many activities
total() {
	n=$(awk -v kind="$1" -v of="$2" '$1 == "activity" && $2 == kind && $3 == of { n += $4 } END { print n + 0 }' "$name.look")
	[ "$n" = "$3" ] || complain "$n activities of $1 $2 instead of $3"
}

# on: CUPTI was used, and every interval is where it belongs
on() {
	has 'source 2$'
	has 'note device: CUPTI version'
	has 'footer 0 '
	has 'stray 0$'
	has 'astray 0$'
	has 'early 0$'
	has 'late 0$'
}

# off REASON: events were used instead
off() {
	has "note device: pairs of events .*$1"
	hasnot 'activity'
	has 'footer 0 '
}

run work -- "$bin/cupti_host" work
on
total LAUNCH spin 20
total SET - 20
[ "$(awk '$1 == "call" && $5 { n += $5 } END { print n }' work.look)" = 40 ] || complain "not all calls are timed"

# a program of one launch; and calls of a library that launch several times each
run one -- "$bin/cupti_host" one
on
total LAUNCH spin 1
run library -- "$bin/cupti_host" library
on
total LAUNCH spin 120
total SET - 40
grep -q '^call .* cublasSscal_v2 40 40 ' library.look || complain "not all calls are timed: $(grep '^call' library.look)"

# What CUPTI makes for that: no record of a call, no external id; nothing but callbacks of each launch: two of the driver's, and two of
# the runtime's, which has none any more once its calls were seen to enter the driver
# made ACTIVITIES CALLS EXTERNAL CALLBACKS
made() {
	grep -q "^softgpu: CUPTI: records of $1 activities, $2 calls, $3 external ids; $4 callbacks\$" "$name.out" ||
		complain "$(grep '^softgpu: CUPTI' "$name.out") instead of $*"
}
run count SOFTGPU_CUPTI=count -- "$bin/cupti_host" work
on
# on a busy machine they may have been seen before the last one
made 40 0 0 '\(8[0-9]\|9[0-9]\|1[0-5][0-9]\|160\)'
run count_long SOFTGPU_CUPTI=count -- "$bin/cupti_host" steady
counts=$(sed -n 's/^softgpu: CUPTI: records of \([0-9]*\) activities, 0 calls, 0 external ids; \([0-9]*\) callbacks$/\1 \2/p' count_long.out)
# shellcheck disable=SC2086
set -- $counts
[ "$2" -lt $((3 * $1)) ] || complain "$1 activities took $2 callbacks"
run external SOFTGPU_CUPTI=count PMHOOK_CUPTI_JOIN=external -- "$bin/cupti_host" work
on
total LAUNCH spin 20
total SET - 20
made 40 40 40 0

# where the one way is not to be had, the other is taken: at once, or when nothing was joined
run refused SOFTGPU_CUPTI=refused -- "$bin/cupti_host" library
on
has 'note device: CUPTI has no callbacks of launches'
total LAUNCH spin 120
run outside SOFTGPU_CUPTI=outside -- "$bin/cupti_host" work
on
total LAUNCH spin 20
total SET - 20
run nocallbacks SOFTGPU_CUPTI=nocallbacks -- "$bin/cupti_host" long
has 'note device: CUPTI makes no callbacks of launches'
n=$(awk '$1 == "call" && $3 == "cudaLaunchKernel" { n += $5 } END { print n + 0 }' nocallbacks.look)
[ "$n" -gt 500 ] || complain "only $n calls are timed"

run threads -- "$bin/cupti_host" threads
on
total LAUNCH spin 81
total SET - 81

run graph -- "$bin/cupti_host" graph
has 'source 2$'
has 'stray 0$'
total LAUNCH spin 10
total SET - 10
total COPY - 10
has 'node 1 spin 10$'
[ "$(grep -c '^node [23] - 10$' graph.look)" = 2 ] || complain "nodes: $(grep '^node' graph.look)"

run group -- "$bin/cupti_host" group
on
total LAUNCH softgpu::ncclGroupEnd 40

# the model clock has it done as fast as it is submitted
run burst SOFTGPU_PROFILE=v100 -- "$bin/cupti_host" burst
has 'source 2$'
has 'stray 0$'
total LAUNCH spin 12000
total SET - 12000

run forget -- "$bin/cupti_host" forget
on
total LAUNCH spin 100
total SET - 60

run peer -- "$bin/cupti_host" peer
on
total COPY - 40

run unhooked -- "$bin/cupti_host" unhooked
has 'source 2$'
has 'stray 39$'
total LAUNCH spin 1

run fork -- "$bin/cupti_host" fork
on
total LAUNCH spin 20
# shellcheck disable=SC2046
set -- $(ls -v fork/*.pmtrace)
name=fork_child
"$bin/cupti_look" "$2" >fork_child.look
has 'note device: pairs of events .*the parent used CUPTI'
hasnot activity

# killed in the middle: what the rounds have written is there
run long -- "$bin/cupti_host" long
has 'source 2$'
has 'footer 0 0$'
n=$(awk '$1 == "activity" { n += $4 } END { print n + 0 }' long.look)
[ "$n" -gt 1000 ] || complain "only $n activities of a killed process"

# another tool
run early -- "$bin/cupti_host" early
off 'another tool uses CUPTI'
run late -- "$bin/cupti_host" late
has 'note device: pairs of events from now on: another tool uses CUPTI (cuptiSubscribe)$'
hasnot 'note device: CUPTI did not return'
has 'footer 0 '
has 'stray 0$'
total LAUNCH spin 20
total SET - 20
[ "$(awk '$1 == "call" && $5 { n += $5 } END { print n }' late.look)" = 121 ] || complain "not all calls are timed"
run taken SOFTGPU_CUPTI=taken -- "$bin/cupti_host" work
off 'another tool has subscribed'
run nsys NSYS_PROFILING_SESSION_ID=1 -- "$bin/cupti_host" work
off 'another tool launched'

# settings and versions
run events PMHOOK_DEVICE=events -- "$bin/cupti_host" work
off 'by setting'
has 'source 1$'
run none PMHOOK_DEVICE=none -- "$bin/cupti_host" work
has 'source 0$'
hasnot activity
run cuda12 SOFTGPU_CUPTI_VERSION=22 -- "$bin/cupti_host" work
on
run cuda14 SOFTGPU_CUPTI_VERSION=140000 -- "$bin/cupti_host" work
off 'version'
run cuda11 SOFTGPU_CUPTI_VERSION=16 -- "$bin/cupti_host" work
off 'version'
run nocalls SOFTGPU_CUPTI=nocalls PMHOOK_CUPTI_JOIN=external -- "$bin/cupti_host" long
has 'note device: CUPTI reports no calls'
n=$(awk '$1 == "call" && $3 == "cudaLaunchKernel" { n += $5 } END { print n + 0 }' nocalls.look)
[ "$n" -gt 500 ] || complain "only $n calls are timed"

# every step of the beginning may fail
for fault in cuptiSubscribe:1 cuptiActivityEnable:1 cuptiActivityRegisterCallbacks:1; do
	run "fault_$fault" SOFTGPU_FAIL=$fault -- "$bin/cupti_host" work
	off CUPTI
done

# a flush that never comes back: the host ends all the same, in little more than the two seconds it is given
begin=$(date +%s)
run hang SOFTGPU_CUPTI=hang -- "$bin/cupti_host" work
[ $(($(date +%s) - begin)) -le 6 ] || complain "the host was held up"
has 'note device: no response from CUPTI'
has 'footer 40 '

# no CUPTI beside the runtime; and the vendor's, which finds no driver here
mkdir libraries_without libraries_vendor
for library in "$BUILD"/softgpu/*.so.*; do
	case $library in *libcupti*) ;; *) ln -s "$library" libraries_without/ && ln -s "$library" libraries_vendor/ ;; esac
done
"$bin/mkdata" --dataset mnist --out data --train 600 --test 100
train="$bin/train_cnn --data data --batch 32 --epochs 2 --iterations 15 --print 1"
# shellcheck disable=SC2086
{
	LD_LIBRARY_PATH=$SCRATCH/libraries_without $train >plain.out
	run without LD_LIBRARY_PATH="$SCRATCH/libraries_without" -- $train
	off CUPTI
	cmp plain.out without.out || complain "prints something else"
	if [ -n "${VENDOR_CUPTI:-}" ] && [ -z "$PM_SANITIZE" ]; then
		ln -s "$VENDOR_CUPTI" libraries_vendor/libcupti.so.13
		run vendor LD_LIBRARY_PATH="$SCRATCH/libraries_vendor" -- $train
		off 'cannot subscribe to CUPTI'
		cmp plain.out vendor.out || complain "prints something else"
	fi
	run cupti PMHOOK_DEVICE=cupti -- $train
	on
	cmp plain.out cupti.out || complain "prints something else"
	has 'activity LAUNCH softgpu::cudnnConvolutionForward 60$'
	has 'activity LAUNCH softgpu::cudnnConvolutionBackwardFilter 60$'
}
[ -z "$PM_SANITIZE" ] || exit $bad # times under a sanitizer say nothing

# The same time for each operation as events tell, within 1% or 1 us: the lower quartile of its calls, on a modelled GPU, whose times do
# not depend on how busy the machine is. Operations come in the same order.
# A pair of events around a call that waits for the host holds the wait too, so copies of pageable memory are left out.
export SOFTGPU_PROFILE=v100 SOFTGPU_TIME_SCALE=20
for source in events cupti; do
	# shellcheck disable=SC2086
	run "${source}_times" PMHOOK_DEVICE=$source -- $train
	awk '$1 == "call" && $4 >= 20 && $5 && $3 !~ /Memcpy/ { print $3, $4, $5, $6 }' "$name.look" >$source.times
done
paste -d ' ' events.times cupti.times | awk '
	{ d = $8 - $4; if (d < 0) d = -d }
	$1 != $5 || $2 != $6 || $3 != $7 { print "other calls:", $0; bad = 1; next }
	d > 1000 && d > $4 / 100 { print "other time:", $0; bad = 1 }
	END { if (NR < 20) { print "only", NR, "operations"; bad = 1 } exit bad }' >agree.out || complain "$(cat agree.out)"
exit $bad
