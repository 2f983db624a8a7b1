#!/bin/sh
# A trace that is truncated, removed or replaced while threads record never ends the program; a SIGBUS of the program's own does
# to it what it does without the hook, and its handlers read back the same. Traces hold nothing that was not put there, and
# belong to their owner.
set -eu
. "$SOURCE/tests/preload.sh"
host=$1
export PMHOOK_STRICT=on LC_ALL=C
ulimit -c 0

. "$SOURCE/tests/complain.sh"

# same CASE...: output and exit status as without the hook; what the hook says is in said
same() {
	plain=0 hooked=0
	mkdir traces
	env -u PMHOOK_OUT timeout -s KILL 60 "$host" "$@" >plain.out 2>plain.err || plain=$?
	with_hook env PMHOOK_OUT="$SCRATCH/traces" timeout -s KILL 60 "$host" "$@" >hooked.out 2>said || hooked=$?
	[ $plain = $hooked ] || complain "$*: ends with $hooked instead of $plain: $(cat said)"
	cmp -s plain.out hooked.out || complain "$*: prints something else: $(diff plain.out hooked.out | head -n 5)"
	find traces -type f >found
	rm -rf traces
}

for how in zero half remove replace; do
	for threads in 0 1 6; do
		same damage $how $threads
		[ "$(cat hooked.out)" = survived ] || complain "$how with $threads threads does not survive"
		grep -q 'was truncated, removed or replaced' said || complain "$how with $threads threads is not told: $(cat said)"
	done
done
PMHOOK_VERBOSE=on same damage zero 3
grep -Eq '\([1-9][0-9]* lost\)' said || complain "what was lost is not counted: $(cat said)"

# the sanitizers' runtimes have a handler of their own, and signal functions of their own after ours
case ${PM_SANITIZE:-} in
'')
	for handler in none ignore plain info jump repair once; do
		for when in before after; do
			same fault $handler $when
			for how in kill tgkill queue; do same sent $handler $when $how; done
		done
	done
	# these tests test something
	same fault none before
	[ $hooked = 135 ] || complain "a fault without a handler ends with $hooked"
	same fault info after
	[ $hooked = 4 ] || complain "a fault with a handler ends with $hooked"
	same fault repair after
	[ "$(tail -n 1 hooked.out)" = 'after the fault: 3' ] || complain "three faults that are repaired: $(cat hooked.out)"
	same sent info before queue
	[ $hooked = 5 ] || complain "a queued signal ends with $hooked"
	same damaged repair
	[ "$(tail -n 1 hooked.out)" = survived ] || complain "both kinds of faults in turn: $hooked $(cat hooked.out)"
	same damaged jump
	same functions
	same children
	[ $hooked = 3 ] || complain "a child of vfork has changed its parent: $hooked"
	# a second copy of the hook passes all of it on
	cp "$HOOK" copy.so
	status=0
	env LD_PRELOAD="$HOOK:$SCRATCH/copy.so" PMHOOK_OUT="$SCRATCH" "$host" functions >copies.out 2>&1 || status=$?
	same functions
	cmp -s plain.out copies.out || complain "two copies: ends with $status: $(diff plain.out copies.out | head -n 5)"
	rm -f ./*.pmtrace
	;;
esac

# contents and permissions
# secrets MODE UMASK [PMHOOK_FILE_MODE]
secrets() {
	mkdir own
	(umask "$2" && with_hook env PMHOOK_OUT="$SCRATCH/own" ${3:+PMHOOK_FILE_MODE=$3} PMHOOK_DEVICE=none "$host" secrets >secrets.out) ||
		complain "secrets ends with $?"
	printf 'mode %s\nnothing\n' "$1" >expected
	head -n 2 secrets.out | cmp -s expected - || complain "umask $2, mode ${3:-not set}: $(head -n 6 secrets.out)"
	[ "$(tail -n 1 secrets.out)" = 'found what was put there' ] || complain "the search finds nothing: $(tail -n 3 secrets.out)"
	rm -rf own
}
# a sanitizer's shadow memory is so large that many a number is an address in it
[ -z "${PM_SANITIZE:-}" ] || exit $bad
secrets 600 022
secrets 600 000
secrets 640 027 0666
secrets 644 022 644
exit $bad
