#!/bin/sh
# What calls cost that a full disk has no room for, beside those that are recorded: lost_cost.sh BUILD, as root, who may mount a small
# file system. Processor time of bench_calls, three runs each, in turns.
set -eu
build=$(cd "${1:?usage: lost_cost.sh BUILD}" && pwd)
scratch=$(mktemp -d)
mkdir "$scratch/room" "$scratch/disk"
mount -t tmpfs -o size=256k tmpfs "$scratch/disk"
trap 'umount "$scratch/disk" && rm -rf "$scratch"' EXIT

processor_seconds() { # FOLDER
	rm -f "$1"/*.pmtrace
	PMHOOK_OUT="$1" PMHOOK_MODE=full PMHOOK_MAX_MB=8192 PMHOOK_DEVICE=none PMHOOK_VERBOSE=off \
		python3 - "$build/bin/bench_calls" "$build/lib/libpmhook.so" <<-'END'
		import os, resource, subprocess, sys
		subprocess.run([sys.argv[1]], env=dict(os.environ, LD_PRELOAD=sys.argv[2]), stdout=subprocess.DEVNULL, check=True)
		used = resource.getrusage(resource.RUSAGE_CHILDREN)
		print(round(used.ru_utime + used.ru_stime, 3))
	END
}
for run in 1 2 3; do
	echo "run $run: recorded $(processor_seconds "$scratch/room") s, on a full disk $(processor_seconds "$scratch/disk") s"
done
