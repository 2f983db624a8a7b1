#!/bin/sh
# What the hook takes of a host, and what it must not: its stack (2 KiB at most), its descriptors' contents, the calls after one that
# did not return. The functions of the libcudart it is tried with return at once.
set -eu
. "$SOURCE/tests/preload.sh"
host="$BUILD/bin/guest_host"
export LD_BIND_NOW=1
head -c 4096 /dev/zero >data.bin
echo done >just_done

. "$SOURCE/tests/complain.sh"

# hooked NAME COMMAND...: under the hook, its traces in the folder NAME; output in NAME.out, exit status in $status
hooked() {
	name=$1 status=0
	shift
	rm -rf "$name"
	mkdir "$name"
	PMHOOK_OUT="$SCRATCH/$name" with_hook timeout -s KILL 60 "$@" >"$name.out" 2>&1 || status=$?
}

# A sanitizer's frames are larger, and its signal handling needs more than the smallest stacks.
if [ -z "${PM_SANITIZE:-}" ]; then
	for source in none events; do
		for what in first new chunks sync read stream worker; do
			plain=$("$host" depth $what)
			PMHOOK_DEVICE=$source hooked depth "$host" depth $what
			more=$(($(cat depth.out) - plain))
			[ "$status" = 0 ] && [ $more -le 2048 ] || complain "$what takes $more bytes of stack (device times: $source)"
			echo "stack of '$what', device times $source: $plain bytes without the hook, $more more with it"
		done
	done
	for stack in "thread min" "thread 20480" "signal 8192"; do
		# shellcheck disable=SC2086
		"$host" stack $stack >/dev/null || complain "$stack does not work without the hook: this tests nothing"
		# shellcheck disable=SC2086
		hooked stack "$host" stack $stack
		[ "$status" = 0 ] && [ "$(cat stack.out)" = done ] || complain "stack $stack: $status $(cat stack.out)"
	done
	# the smallest that a signal and the same calls fit in without the hook, and 2 KiB
	least=2048
	while ! "$host" stack signal $least >/dev/null 2>&1; do least=$((least + 256)); done
	hooked stack "$host" stack signal $((least + 2048))
	[ "$status" = 0 ] && [ "$(cat stack.out)" = done ] || complain "a signal stack of $least + 2048 bytes: $status $(cat stack.out)"
	echo "smallest signal stack: $least bytes without the hook"
fi

# no memory is probed, and nothing is read that nobody wrote
# valgrind 3.19 cannot read what clang 14 writes for debuggers, and says so
if [ -z "${PM_SANITIZE:-}" ] && command -v valgrind >/dev/null && valgrind -q "$host" left jump 2>&1 | cmp -s - just_done; then
	for what in "left jump" "left inside" "stack thread 65536"; do
		# shellcheck disable=SC2086
		PMHOOK_DEVICE=events hooked valgrind valgrind -q --error-exitcode=9 "$host" $what
		[ "$status" = 0 ] || [ "$status" = 3 ] || complain "valgrind, $what: $status $(head -n 8 valgrind.out)"
		[ "$(wc -l <valgrind.out)" = 1 ] || complain "valgrind, $what, says more: $(head -n 8 valgrind.out)"
	done
else
	echo "not tried under valgrind"
fi

# a checker of threads sees the host's own race and none of ours
if [ -z "${PM_SANITIZE:-}" ] && command -v valgrind >/dev/null && valgrind --tool=helgrind "$host" race 2>&1 | grep -q 'guest_rounds.c'; then
	for source in none events; do
		PMHOOK_DEVICE=$source hooked helgrind valgrind --tool=helgrind "$host" race
		[ "$status" = 3 ] || complain "helgrind: $status"
		grep -q 'Possible data race' helgrind.out || complain "helgrind, device times $source: the host's race is not seen"
		grep '==    at 0x' helgrind.out | grep -v 'guest_rounds.c\|clone' >ours || true
		[ ! -s ours ] || complain "helgrind, device times $source: $(sort ours | uniq -c | sort -rn | head -n 4)"
	done
else
	echo "not tried under helgrind"
fi

# not with CUPTI: while the dynamic linker loads it, the linker's descriptor is in the process
PMHOOK_DEVICE=events hooked descriptors "$host" descriptors 100
[ "$status" = 0 ] && [ "$(cat descriptors.out)" = "100 rounds" ] || complain "descriptors: $status $(head -n 3 descriptors.out)"

# left HOW INTERRUPTED CALLS: so many interrupted calls are in the trace, and so many sets
left() {
	PMHOOK_DEVICE=$source hooked left "$host" left "$1"
	[ "$status" = 3 ] && [ "$(cat left.out)" = done ] || complain "left $1: $status $(cat left.out)"
	"$BUILD/bin/pmanalyze" dump --records --csv left/*.pmtrace >records.csv
	calls=$(grep -c ',cudaMemsetAsync$' records.csv || true)
	# device intervals are records too
	[ "$source" = none ] || calls=$(grep ',cudaMemsetAsync$' records.csv | grep -c ',call,' || true)
	[ "$calls" = "$3" ] || complain "left $1 (device times: $source): $calls of $3 calls after it"
	found=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "flags") f = i } NR > 1 && $f ~ /l/' records.csv |
		grep -c ',cudaLaunchHostFunc$' || true)
	[ "$found" = "$2" ] || complain "left $1 (device times: $source): $found calls that did not return instead of $2"
}
for source in none events; do
	for how in jump signal exit; do left $how 1 1000; done
	# what a cancelled thread leaves on its stack stays poisoned to the sanitizer when the thread's destructors run there
	case ${PM_SANITIZE:-} in *address*) ;; *) left cancel 1 1000 ;; esac
	left inside 0 1000
done
exit $bad
