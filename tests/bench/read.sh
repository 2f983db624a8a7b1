#!/bin/sh
# What it takes to read native traces, of one process and of several: bytes, records, and for each step seconds and
# millions of records a second, of wall time and for each second of a processor, so that anyone sees what meets a rate
# (30 million a second and core were asked for) and what does not. Then the same files as a user has them read, with
# the peak of memory: reports reads a part of a long run, whole all of it. Medians of five. Needs python3, and 40 bytes
# of TMPDIR for each record.
#
#     tests/bench/read.sh BUILD [MILLIONS OF RECORDS]
set -eu
build=$(cd "${1:?usage: read.sh BUILD [MILLIONS OF RECORDS]}" && pwd)
records=$((${2-40} * 1000000))
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# Of five runs the median seconds of wall time and of processors, and the peak of resident memory.
cat >measure.py <<'END'
import os, statistics, sys, time
records, name, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
walls, works, peak = [], [], 0
for _ in range(5):
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        os.execvp(command[0], command)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(name + ": failed")
    walls.append(time.monotonic() - begin)
    works.append(usage.ru_utime + usage.ru_stime)
    peak = max(peak, usage.ru_maxrss)
wall, work = statistics.median(walls), max(statistics.median(works), 1e-3)
print("  %-10s %8.3f %8.1f   %8.3f %8.1f   %6.0f MB, %.1f bytes a record"
      % (name, wall, records / wall / 1e6, work, records / work / 1e6, peak / 1024, peak * 1024 / records))
END

for program in one three; do
	case $program in one) iterations=$((records / 121)) ;; *) iterations=$((records / 402)) ;; esac
	mkdir "$program"
	"$build/bin/make_trace" "$program" "$program" "$iterations"
	"$build/bin/bench_read" "$program"/*.pmtrace >steps
	count=$(sed -n 's/^records //p' steps)
	echo "$program: $(ls "$program" | wc -l) files, $(cat "$program"/* | wc -c) bytes, $count records; processors: $(nproc)"
	printf '  %-10s %8s %8s   %8s %8s   %s\n' step "s wall" "M/s" "s proc." "M/s" "peak memory"
	python3 measure.py "$count" cat cat "$program"/*.pmtrace
	awk -v records="$count" '$1 != "records" {
		printf "  %-10s %8.3f %8.1f   %8.3f %8.1f\n", $1, $2, records / $2 / 1e6, $3, records / $3 / 1e6
	}' steps
	python3 measure.py "$count" dump "$build/bin/pmanalyze" dump --json "$program"/*.pmtrace
	python3 measure.py "$count" whole "$build/bin/pmanalyze" report --records all "$program"
	python3 measure.py "$count" reports "$build/bin/pmanalyze" report "$program"
	rm -rf "$program"
done
