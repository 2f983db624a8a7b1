#!/bin/sh
# For $PM_STRESS_SECONDS: children of all moments, a thousand rounds of descriptors that are closed and reopened, kills.
# PM_STRESS_FORKS says how many children there are to be, whatever the time.
set -eu
. "$SOURCE/tests/preload.sh"
host="$BUILD/bin/guest_host"
ends=$(($(date +%s) + PM_STRESS_SECONDS))
head -c 4096 /dev/zero >data.bin
# of traces that nobody looks at
export PMHOOK_MAX_MB=64
forks=0 rounds=0 kills=0
# itself, not a script that looks for it; a sanitizer's interpreter is another matter
python=$([ -n "$(sanitizer_runtime)" ] || python3 -c 'import sys; print(sys.executable if sys.version_info >= (3, 9) else "")' || true)

run() {
	status=0
	rm -rf traces
	mkdir traces
	PMHOOK_OUT="$SCRATCH/traces" with_hook "$@" >out 2>&1 || status=$?
}

while :; do
	for kind in fork raw; do
		for source in none events; do
			PMHOOK_DEVICE=$source run timeout -s KILL 300 "$host" fork 50 $kind
			if [ "$status" != 0 ]; then
				echo "not ok: fork, $kind, device times $source: $status $(tail -n 3 out)"
				exit 1
			fi
			forks=$((forks + 50))
		done
	done
	if [ -n "$python" ]; then
		PMHOOK_DEVICE=none run timeout -s KILL 300 "$python" "$SOURCE/tests/hook/guest/fork.py" "$BUILD/guest/libcudart.so.13" 20
		if [ "$status" != 0 ]; then
			echo "not ok: fork in Python: $status $(tail -n 3 out)"
			exit 1
		fi
		forks=$((forks + 20))
	fi
	# not with CUPTI: while the dynamic linker loads it, the linker's descriptor is in the process
	PMHOOK_DEVICE=events run timeout -s KILL 120 "$host" descriptors 50
	if [ "$status" != 0 ]; then
		echo "not ok: descriptors: $status $(head -n 3 out)"
		exit 1
	fi
	rounds=$((rounds + 50))
	# a kill in the middle of it all: what was recorded can be read
	run timeout -s KILL 0.$((kills % 9 + 1)) "$host" fork 100000 fork
	for trace in traces/*.pmtrace; do
		[ ! -s "$trace" ] || "$BUILD/bin/pmanalyze" dump "$trace" >dump 2>&1 || grep -q 'not a trace\|no trace' dump || {
			echo "not ok: killed: $(head -n 3 dump)"
			exit 1
		}
	done
	kills=$((kills + 1))
	[ "$(date +%s)" -lt $ends ] || [ $forks -lt "${PM_STRESS_FORKS:-0}" ] || break
done
echo "$forks children, $rounds rounds of descriptors, $kills kills"
