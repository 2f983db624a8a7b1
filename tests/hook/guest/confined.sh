#!/bin/sh
# Programs under a filter of system calls (seccomp) that ends who makes clone: one that installs it before its first call or after it, and
# one that finds it there, as in a container: they end as without the hook, and each call is recorded. Programs whose trace gets out of their reach.
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
		calls=$("$BUILD/bin/pmanalyze" dump --records --csv traces/*.pmtrace 2>&1 | grep ',cudaMemsetAsync$' | grep -c ',call,' || true)
		if [ $plain != 3 ] || [ $status != 3 ] || [ "$(cat out)" != done ] || [ "$calls" != 3000 ]; then
			echo "not ok: $when, device times $source: $plain without the hook, $status with it, $calls calls: $(head -n 3 out)"
			bad=1
		fi
	done
done

# limited WHAT CAUSE: what is lost then is lost for that cause alone, and nobody is said to have touched the file
limited() {
	status=0
	rm -rf traces jail
	mkdir traces
	PMHOOK_DEVICE=none PMHOOK_OUT="$SCRATCH/traces" with_hook timeout -s KILL 60 "$host" limited "$1" >out 2>&1 || status=$?
	[ $status != 77 ] || { echo "not tried: $(cat out)" && return; }
	"$BUILD/bin/trace_look" traces/*.pmtrace >look
	if [ $status != 3 ] || [ "$(cat out)" != done ] || ! grep -q "^loss $2 " look || grep '^loss' look | grep -qv "$2 \|DICTIONARY \|OPERATIONS "; then
		echo "not ok: $1: $status $(head -n 3 out) $(grep '^loss' look | tr '\n' ',')"
		bad=1
	fi
}
# a sanitizer's runtime takes memory and files of its own
if [ -z "${PM_SANITIZE:-}" ]; then
	limited size FILE_LIMIT
	limited memory MAPPING
	limited user UNREACHABLE
	limited root UNREACHABLE
	(
		ulimit -f 1
		PMHOOK_OUT="$SCRATCH/none" with_hook "$host" limited nothing 2>&1 | cat >said
	) || true
	grep -q 'File too large' said || { echo "not ok: no file may be written: $(cat said)" && bad=1; }
fi
exit $bad
