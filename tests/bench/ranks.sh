#!/bin/sh
# The report of jobs of 10 to 10000 ranks from summaries: seconds and peak memory, and whether the straggler that the made-up job
# has was found. Then what it takes to reduce one trace of 1 to 20 million calls. Needs python3.
#
#     tests/bench/ranks.sh BUILD [RANKS]...
set -eu
build=$(cd "${1:?usage: ranks.sh BUILD [RANKS]...}" && pwd)
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
[ $# -gt 0 ] || set -- 10 100 1000 10000

# Seconds and the peak of resident memory of a program; its output goes to a file.
cat >measure.py <<'END2'
import os, resource, subprocess, sys, time
begin = time.monotonic()
with open(sys.argv[1], "w") as out:
    status = subprocess.run(sys.argv[2:], stdout=out).returncode
print("%8.2f s %7.0f MB" % (time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
      + ("" if status == 0 else "  failed"))
END2

echo "processors: $(nproc)"
printf '%7s %14s   %-22s %-22s %s\n' ranks "KB a summary" report "report --json" "straggler, cause, layer"
for ranks in "$@"; do
	rm -rf sums && mkdir sums
	bytes=$("$build/bin/make_summaries" sums "$ranks" layer | sed 's/.*bytes //')
	text=$(python3 measure.py out "$build/bin/pmanalyze" report sums)
	json=$(python3 measure.py out.json "$build/bin/pmanalyze" report --json sums)
	found=$(python3 -c 'import json
for c in json.load(open("out.json"))["causes"]:
    print(c["worker"] + ",", c["cause"] + ",", c["layer"])')
	printf '%7s %14s   %-22s %-22s %s\n' "$ranks" "$(python3 -c "print('%.1f' % ($bytes / 1024))")" "$text" "$json" "$found"
done

printf '\n%10s %10s   %s\n' iterations "trace MB" "reduce"
for iterations in 10000 100000 200000; do
	rm -rf run && mkdir run
	"$build/bin/make_trace" run one "$iterations"
	printf '%10s %10s   %s\n' "$iterations" "$(du -m run/program.0.pmtrace | cut -f 1)" \
		"$(python3 measure.py out "$build/bin/pmanalyze" reduce -o sums run)"
done
