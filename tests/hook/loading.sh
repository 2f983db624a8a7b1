#!/bin/sh
# Programs with other libraries preloaded before the hook or after it: sanitizers, allocators, interposers, a second copy of the
# hook, libraries with much thread-local storage, an auditor. They print the same and end the same as without the hook, in time,
# and there is one trace of what uses a device. Libraries that are not installed are left out, and named.
set -eu
. "$SOURCE/tests/preload.sh"
if [ -n "$(sanitizer_runtime)" ]; then
	echo "two sanitizers' runtimes do not go together"
	exit 77
fi
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 TSAN_OPTIONS=exitcode=0:report_bugs=0
bad=0 tried='' missing=''

. "$SOURCE/tests/complain.sh"

# run FOLDER PRELOADED COMMAND...: output, error output and exit status in FOLDER.out, FOLDER.err and $status
run() {
	folder=$1 preloaded=$2 status=0
	shift 2
	mkdir -p "$folder"
	timeout -s KILL 60 env LD_PRELOAD="$preloaded" PMHOOK_OUT="$SCRATCH/$folder" "$@" >"$folder.out" 2>"$folder.err" || status=$?
}

# same NAME BEFORE AFTER TRACES COMMAND...: with the hook between the two lists of libraries as with them alone
same() {
	name=$1 before=$2 after=$3 traces=$4
	shift 4
	run plain "$before:$after" "$@"
	plain=$status
	[ "$plain" = 0 ] || complain "$name: $* ends with $plain without the hook: this test tests nothing: $(cat plain.err)"
	run hooked "$before:$HOOK:$after" "$@"
	[ "$status" = "$plain" ] || complain "$name: $* ends with $status instead of $plain: $(head -n 3 hooked.err)"
	cmp -s plain.out hooked.out || complain "$name: $* prints something else: $(diff plain.out hooked.out | head -n 3)"
	cmp -s plain.err hooked.err || complain "$name: $* says on standard error: $(head -n 3 hooked.err)"
	found=$(find hooked -name '*.pmtrace' | wc -l)
	[ "$found" = "$traces" ] || complain "$name: $* leaves $found traces instead of $traces"
	for trace in hooked/*.pmtrace; do
		[ ! -e "$trace" ] || "$BUILD/bin/pmanalyze" dump "$trace" >dump 2>&1 || complain "$name: $trace: $(cat dump)"
	done
	rm -rf hooked
}

# all NAME BEFORE AFTER
all() {
	same "$1" "$2" "$3" 0 /bin/true
	same "$1" "$2" "$3" 1 "$BUILD/bin/invisible_host" threads
	if [ -n "$python" ]; then same "$1" "$2" "$3" 0 "$python" -c 'print(sum(range(10)))'; fi
}

# both NAME LIBRARY: before the hook and after it
both() {
	tried="$tried $1"
	all "$1 before" "$2" ''
	all "$1 after" '' "$2"
}

# itself, not a script that looks for it
python=$(python3 -c 'import sys; print(sys.executable)' || true)
cp "$HOOK" copy.so
all 'nothing' '' ''
for name in libasan.so libtsan.so libubsan.so; do
	library=$("$CC" -print-file-name=$name)
	if [ -e "$library" ]; then both $name "$(readlink -f "$library")"; else missing="$missing $name"; fi
done
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	library=$(find /usr/lib /usr/lib64 /usr/local/lib -name $name 2>/dev/null | head -n 1)
	if [ -n "$library" ]; then both $name "$library"; else missing="$missing $name"; fi
done
both 'strings' "$BUILD/traps/libtrap_strings.so"
both 'dlsym' "$BUILD/traps/libtrap_dlsym.so"
# all at once
all 'around' "$BUILD/traps/libtrap_strings.so:$BUILD/traps/libtrap_dlsym.so" "$BUILD/traps/libtrap_strings.so"
# the loader has little static thread-local storage to spare, and less of it with an auditor
for number in 1 2 3; do cp "$BUILD/traps/libtrap_storage.so" storage$number.so; done
all 'storage' "$SCRATCH/storage1.so:$SCRATCH/storage2.so" "$SCRATCH/storage3.so"
export LD_AUDIT="$BUILD/traps/libtrap_audit.so"
all 'auditor' '' ''
all 'auditor and storage' "$SCRATCH/storage1.so:$SCRATCH/storage2.so" "$SCRATCH/storage3.so"
[ ! -s plain.err ] || complain "the auditor itself: $(head -n 1 plain.err)"
unset LD_AUDIT
# the first of two copies records, the second passes calls on
copies() {
	run plain '' "$@"
	run hooked "$HOOK:$SCRATCH/copy.so" "$@"
	[ "$status" = 0 ] && cmp -s plain.out hooked.out && cmp -s plain.err hooked.err ||
		complain "two copies: $* ends with $status, $(diff plain.out hooked.out | head -n 3) $(head -n 3 hooked.err)"
}
for command in /bin/true "$python -c print(1)"; do
	# shellcheck disable=SC2086
	[ "$command" = " -c print(1)" ] || copies $command
done
# with pairs of events, as the other threads time their work with those while one begins with CUPTI
export PMHOOK_DEVICE=events
copies "$BUILD/bin/invisible_host" threads
"$BUILD/bin/trace_look" hooked/*.pmtrace >two
[ "$(head -n 1 two)" = "traces 1" ] || complain "two copies: $(head -n 1 two)"
rm -rf hooked
run hooked "$HOOK" "$BUILD/bin/invisible_host" threads
"$BUILD/bin/trace_look" hooked/*.pmtrace >one
grep -E '^(call|device)' one >one.calls
grep -E '^(call|device)' two >two.calls
[ -s one.calls ] || complain "one copy has recorded nothing"
cmp one.calls two.calls || complain "two copies: other calls than one"
echo "tried:$tried; not installed:${missing:- none}"
exit $bad
