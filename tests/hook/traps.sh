#!/bin/sh
# Programs in whose way a hook could get: other interposers before and behind it, libraries that find each other by $ORIGIN or
# dispatch to parts, two copies of a library, libraries that come and go, functions of the program's own, look-ups before the
# hook is ready, threads in the loader. All print the same as without the hook, and the trace has each call once.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
traps=$BUILD/traps
runtime=$(sanitizer_runtime)
export LD_LIBRARY_PATH="$traps:$BUILD/softgpu" PMHOOK_STRICT=on

. "$SOURCE/tests/complain.sh"

# run NAME PRELOADED COMMAND...: PRELOADED are libraries of traps/ and "hook", in order; without the hook and with it
run() {
	name=$1 with="${runtime:-}" without="${runtime:-}" status=0 plain=0
	for library in $2; do
		if [ "$library" = hook ]; then with="$with:$HOOK"; else
			with="$with:$traps/libtrap_$library.so" without="$without:$traps/libtrap_$library.so"
		fi
	done
	shift 2
	timeout 60 env LD_PRELOAD="$without" "$@" >"$name.plain" 2>&1 || plain=$?
	mkdir "$name"
	timeout 60 env LD_PRELOAD="$with" PMHOOK_OUT="$SCRATCH/$name" "$@" >"$name.with" 2>&1 || status=$?
	[ $status = 0 ] && [ $plain = 0 ] || complain "ends with $status instead of $plain"
	cmp -s "$name.plain" "$name.with" || complain "prints something else: $(diff "$name.plain" "$name.with" | head -n 6)"
	"$bin/trace_look" $(find "$name" -name '*.pmtrace') >"$name.look"
	grep '^call' "$name.plain" | sort >"$name.said" || true
	grep '^call' "$name.look" | sort >"$name.seen" || true
	cmp -s "$name.said" "$name.seen" || complain "calls said and seen: $(diff "$name.said" "$name.seen" | tr '\n' ' ')"
}

# prints LINE: the program has printed it
prints() {
	grep -qx "$1" "$name.with" || complain "no '$1'"
}

# unseen COUNT: so many functions were left alone
unseen() {
	grep -q "^footer [0-9]* 0 0 $1 " "$name.look" || complain "unseen: $(grep footer "$name.look")"
}

# the program's five calls and two by look-ups
run before 'before hook' "$bin/traps_host" interposed
prints 'before saw 7'
run behind 'hook behind' "$bin/traps_host" interposed
prints 'behind saw 7'
run around 'before hook behind' "$bin/traps_host" interposed
prints 'before saw 7'
prints 'behind saw 7'
# the address sanitizer has dlopen and dlsym of its own, which know neither the one nor the other
case $PM_SANITIZE in
*address*) ;;
*)
	run dlsym_before 'dlsym hook' "$bin/traps_host" interposed
	prints 'dlsym saw 7'
	run dlsym_behind 'hook dlsym' "$bin/traps_host" interposed
	prints 'dlsym saw 7'
	mkdir -p site/lib
	cp "$traps"/libtrap_outer.so "$traps"/libtrap_next.so "$traps"/libtrap_neighbour.so site/lib/
	export TRAP_OUTER="$SCRATCH/site/lib/libtrap_outer.so"
	LD_LIBRARY_PATH=$BUILD/softgpu run origin hook "$bin/traps_host" neighbour
	prints 321
	;;
esac

run dispatch hook "$bin/traps_host" dispatch
prints 'the part creates'
unseen 0
run copies hook "$bin/traps_host" copies
prints 'linked 0'
prints 'opened 13'
unseen 1
run copies_first hook "$bin/traps_host" copies_first
prints 'linked 0'
prints 'opened 13'
unseen 1
run plain_name hook "$bin/traps_host_static" plain_name
run static hook "$bin/traps_host_static" static
prints '321 321 321'
run old hook "$bin/traps_host_old" old
prints 'linked 1200'
prints 12
prints '1200 1'
run reopen hook "$bin/traps_host_static" reopen
prints '7 0'
run reopen_global hook "$bin/traps_host_static" reopen_global
run closed_in_use hook "$bin/traps_host_static" closed_in_use
run plugin hook "$bin/traps_host_static" plugin
prints '70 70'

# a constructor that looks up before the hook's has run: in a library after it
run early 'hook early' "$bin/traps_host" none
prints '1 0 1'
run early_before 'early hook' "$bin/traps_host" none
prints '1 0 1'

for try in 1 2 3 4 5; do
	run "threads_$try" hook "$bin/traps_host" threads
done
exit $bad
