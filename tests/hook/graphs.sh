#!/bin/sh
# Captures in all modes, with others at work: the program prints the same with and without the hook, and its trace has each
# graph with its operations and nodes, and each launch with the right graph.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on

. "$SOURCE/tests/complain.sh"

for device in events auto; do
	for case in twice several by_hand update large joined relaxed thread_local per_thread broken many; do
		[ $device = events ] || case $case in update | joined | thread_local) ;; *) continue ;; esac
		name=${case}_$device
		[ -e $case.plain ] || "$bin/graphs_host" $case >$case.plain || complain "fails without the hook"
		mkdir "$name"
		PMHOOK_DEVICE=$device PMHOOK_OUT=$SCRATCH/$name with_hook "$bin/graphs_host" $case >"$name.with" ||
			complain "ends with $?"
		cmp -s $case.plain "$name.with" || complain "prints something else: $(diff $case.plain "$name.with" | head -n 4)"
		"$bin/trace_look" "$name"/*.pmtrace >"$name.look"
		for fact in graph launch; do
			grep "^$fact " "$name.with" | grep -v is | sort >"$name.said" || true
			grep "^$fact " "$name.look" | sort >"$name.seen" || true
			cmp -s "$name.said" "$name.seen" || complain "$(diff "$name.said" "$name.seen" | head -n 8 | tr '\n' ' ')"
		done
		# nothing is lost, and a launch has its device time; threads that outrun the device may lose some times of theirs
		lost=0
		case $case in relaxed | thread_local) lost='[0-9]*' ;; esac
		grep -q "^footer [0-9]* 0 $lost 0 " "$name.look" || complain "$(grep footer "$name.look")"
		# but what is not known of graphs that were made by hand, which is counted
		awk '$1 == "launch" && $2 == 0 { print "loss GRAPHS", $3 }' "$name.look" >"$name.unknown"
		grep '^loss' "$name.look" | grep -v IN_FLIGHT | cmp -s - "$name.unknown" || complain "$(grep '^loss' "$name.look")"
		[ $device = auto ] || ! grep -q '^launch' "$name.with" ||
			grep -qx "device cudaGraphLaunch $(awk '$1 == "launch" { n += $3 } END { print n }' "$name.with")" "$name.look" ||
			complain "device times of launches: $(grep 'device cudaGraphLaunch' "$name.look")"
	done
done
exit $bad
