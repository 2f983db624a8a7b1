#!/bin/sh
# Steps that are all alike make no system call of ours, from C and from Python, but for the trace, which grows by a chunk of a mebibyte at a
# time; a new operation makes four (its thread's signals are held back once, its processor time is read twice), and its call site has the
# frames after one with a routine for exceptions; and what is new takes no more than its share of a run.
set -eu
. "$SOURCE/tests/preload.sh"
[ -z "$PM_SANITIZE" ] || { echo "a sanitizer's own system calls would be counted" && exit 77; }
command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null || { echo "no strace, or it may not trace" && exit 77; }
bin=$BUILD/bin
unset PMHOOK_NEW_SHARE
export PMHOOK_DEVICE=none PMHOOK_FILES=off PYTHONDONTWRITEBYTECODE=1
CHUNK_CALLS=24 # what it takes to begin another chunk
FETCHES=600    # of Python's dictionaries, again each second of a run that strace slows down: not of each operation, which has several

. "$SOURCE/tests/complain.sh"

# calls NAME LIBRARIES COMMAND...: its system calls in NAME.calls, its trace's bytes in NAME.bytes
calls() {
	into=$1 libraries=$2
	shift 2
	rm -rf traces
	mkdir traces
	PMHOOK_OUT=$SCRATCH/traces strace -f -c -E LD_PRELOAD="$libraries" -o "$into.calls" "$@" >"$into.out" 2>&1 || complain "$into: $(cat "$into.out")"
	cat traces/*.pmtrace 2>/dev/null | wc -c >"$into.bytes"
}

# count NAME [CALL]: how often, or all
count() {
	awk -v call="${2:-total}" '$NF == call { n = $4 } END { print n + 0 }' "$1.calls"
}

# more NAME [CALL]: of the long run than of the short one
more() {
	echo $(($(count "$1.long" ${2:+"$2"}) - $(count "$1.short" ${2:+"$2"})))
}

# steps NAME COMMAND...: the number of steps comes last
steps() {
	name=$1
	shift
	for with in plain hooked; do
		libraries=$BUILD/tests/libnull.so
		[ $with = plain ] || libraries=$HOOK:$libraries
		calls "$name.$with.short" "$libraries" "$@" 1000
		calls "$name.$with.long" "$libraries" "$@" 11000
	done
	grown=$(($(cat "$name.hooked.long.bytes") - $(cat "$name.hooked.short.bytes")))
	ours=$(($(more "$name.hooked") - $(more "$name.plain")))
	allowed=$(((grown / 1048576 + 1) * CHUNK_CALLS))
	[ $grown -gt 1000000 ] || complain "$name: 10000 steps are $grown bytes of trace"
	[ $ours -le $allowed ] || complain "$name: $ours system calls in 10000 steps and $grown bytes of trace"
}

# operations NAME COMMAND...: likewise, of operations
operations() {
	name=$1
	shift
	calls "$name.short" "$HOOK:$BUILD/tests/libnull.so" "$@" 500
	calls "$name.long" "$HOOK:$BUILD/tests/libnull.so" "$@" 1500
	[ "$(more "$name" rt_sigprocmask)" -le $((2000 + CHUNK_CALLS)) ] || complain "$name: $(more "$name" rt_sigprocmask) rt_sigprocmask for 1000 operations"
	[ "$(more "$name" process_vm_readv)" -le $FETCHES ] || complain "$name: $(more "$name" process_vm_readv) process_vm_readv for 1000 operations"
	[ "$(more "$name")" -le $((4000 + FETCHES + 2 * CHUNK_CALLS)) ] || complain "$name: $(more "$name") system calls for 1000 operations"
	"$bin/print_names" traces/*.pmtrace >"$name.names" 2>/dev/null
	# each is described without its addresses, and in the sample with them
	[ "$(wc -l <"$name.names")" = 3000 ] || complain "$name: $(wc -l <"$name.names") operations"
}

steps c "$bin/syscalls_host" steady
operations c_new "$bin/syscalls_host" fresh
[ "$(cut -f 3 c_new.names | sort -u)" = "in_frames_with_cleanup < fresh < main" ] || complain "call sites: $(cut -f 3 c_new.names | sort -u | head -n 3)"

python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || python=
if [ "$python" ]; then
	host="$SOURCE/tests/hook/syscalls.py $BUILD/lib/libsyscalls_library.so"
	# shellcheck disable=SC2086
	steps python "$python" -S $host steady
	# shellcheck disable=SC2086
	operations python_new "$python" -S $host fresh
	[ "$(cut -f 2 python_new.names | sort | uniq -c | awk '{ printf "%s %s,", $1, $2 }')" = "$(seq 0 9 | sed 's/.*/300 net.blocks.&/' | paste -s -d , -)," ] ||
		complain "modules: $(cut -f 2 python_new.names | sort | uniq -c | head -n 12)"
fi

# the clock goes a thousand times as fast, so ten seconds are over at once
rm -rf traces
mkdir traces
HOOK=$BUILD/lib/libfast_clock.so:$HOOK
PMHOOK_OUT=$SCRATCH/traces with_hook "$bin/syscalls_host" fresh_for 300
"$bin/trace_look" traces/*.pmtrace >look
"$bin/print_names" traces/*.pmtrace >names 2>/dev/null
lost=$(awk '$1 == "loss" && $2 == "BUDGET" { print $3 }' look)
bare=$(awk -F '\t' '$3 == ""' names | wc -l)
[ "${lost:-0}" -gt 0 ] || complain "no operation is beyond the budget: $(grep '^loss' look)"
[ "${lost:-0}" = "$bare" ] || complain "$bare operations without a call site, and ${lost:-0} are said to be lost"
"$bin/pmanalyze" report traces/*.pmtrace 2>&1 | tr -s '\n ' '  ' | grep -q 'had taken their share of the run' || complain "the report does not say it: $("$bin/pmanalyze" report traces/*.pmtrace 2>&1)"
# nothing is where no limit is set
rm -rf traces
mkdir traces
PMHOOK_NEW_SHARE=100 PMHOOK_OUT=$SCRATCH/traces with_hook "$bin/syscalls_host" fresh_for 300
"$bin/trace_look" traces/*.pmtrace >look
lost=$(awk '$1 == "loss" && $2 == "BUDGET" { print $3 }' look)
[ "${lost:-0}" = 0 ] || complain "without a limit $lost are beyond the budget"
# the ten seconds are those after the first operation: a program may import its libraries for longer
rm -rf traces
mkdir traces
PMHOOK_OUT=$SCRATCH/traces with_hook "$bin/syscalls_host" late 20
"$bin/trace_look" traces/*.pmtrace >look
lost=$(awk '$1 == "loss" && $2 == "BUDGET" { print $3 }' look)
[ "${lost:-0}" = 0 ] || complain "after 20 s without operations $lost are beyond the budget"
exit $bad
