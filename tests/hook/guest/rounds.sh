#!/bin/sh
# Calls and file reads in each of the four rounds of a thread's destructors: the program ends as without the hook, the memory of such
# threads is used again, and every call is recorded or counted, in all modes. Threads that are cancelled at any instruction leave no lock held.
set -eu
. "$SOURCE/tests/preload.sh"
host="$BUILD/bin/guest_host"
head -c 4096 /dev/zero >data.bin

. "$SOURCE/tests/complain.sh"

# hooked MODE SOURCE WHAT...: its traces in the folder traces, output in out, standard error in errors
hooked() {
	mode=$1 source=$2 status=0
	shift 2
	rm -rf traces
	mkdir traces
	PMHOOK_MODE=$mode PMHOOK_DEVICE=$source PMHOOK_VERBOSE=on PMHOOK_OUT="$SCRATCH/traces" with_hook timeout -s KILL 20 "$host" rounds "$@" \
		>out 2>errors || status=$?
	# a ring takes new chunks until it is as large as it may be
	[ $mode != ring ] || sed -i '/kB more/d' out
	[ $status = 3 ] && [ "$(cat out)" = "800 threads" ] || complain "$mode, $source, $*: $status $(cat out) $(head -n 3 errors)"
}

# 800 threads, of which half make a call before; and cudaMalloc
for source in none events; do
	for mode in full ring count off; do
		hooked $mode $source calls recording
		case $mode in
		count) grep -q ': 1201 calls' errors || complain "$mode, $source: $(cat errors)" ;;
		off) [ ! -s errors ] || complain "$mode, $source: $(cat errors)" ;;
		*) grep -q ': 1201 calls.* (0 lost), 0 device times lost' errors || complain "$mode, $source: $(cat errors)" ;;
		esac
		hooked $mode $source reads recording
		hooked $mode $source reads undecided
	done
done
# a device time of the last round may be collected by nobody, but a call is in the trace
for trace in traces/*.pmtrace; do
	[ ! -e "$trace" ] || "$BUILD/bin/pmanalyze" dump "$trace" >/dev/null || complain "$trace cannot be read"
done
hooked full none reads recording
reads=$("$BUILD/bin/pmanalyze" dump --records --csv traces/*.pmtrace | grep -c ',read$' || true)
[ "$reads" = 1200 ] || complain "$reads of 1200 reads are in the trace"
# cancelled at any instruction, also in libunwind, whose own masks let just that signal through; a sanitizer's runtime is not safe for it
if [ -z "${PM_SANITIZE:-}" ]; then
	for source in none events; do
		status=0
		PMHOOK_DEVICE=$source PMHOOK_OUT="$SCRATCH/traces" with_hook timeout -s KILL 30 "$host" cancel 700 >out 2>&1 || status=$?
		[ $status = 3 ] && [ "$(cat out)" = done ] || complain "cancelled, device times $source: $status $(head -n 3 out)"
	done
fi
exit $bad
