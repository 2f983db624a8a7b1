#!/bin/sh
# Programs under a filter of system calls (seccomp) that ends who makes clone: one that installs it before its first call or after it, and
# one that finds it there, as in a container. They end as without the hook, and each call is recorded.
set -eu
. "$SOURCE/tests/preload.sh"
host="$BUILD/bin/guest_host"
bad=0

for when in first later inherited; do
	plain=0
	"$host" confined $when >/dev/null || plain=$?
	if [ $plain = 77 ]; then
		echo "no filters of system calls here"
		exit 77
	fi
	for source in none events; do
		status=0
		rm -rf traces
		mkdir traces
		PMHOOK_DEVICE=$source PMHOOK_OUT="$SCRATCH/traces" with_hook timeout -s KILL 60 "$host" confined $when >out 2>&1 || status=$?
		calls=$("$BUILD/bin/pmanalyze" dump --records --csv traces/*.pmtrace 2>&1 | grep ',cudaMemsetAsync,' | grep -c ',call,' || true)
		if [ $plain != 3 ] || [ $status != 3 ] || [ "$(cat out)" != done ] || [ "$calls" != 3000 ]; then
			echo "not ok: $when, device times $source: $plain without the hook, $status with it, $calls calls: $(head -n 3 out)"
			bad=1
		fi
	done
done
exit $bad
