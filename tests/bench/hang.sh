#!/bin/sh
# How long pmanalyze hang takes for a job of 1024 ranks (or RANKS) that stands still, and what it says: made-up traces of 200 steps of
# 41 calls a rank, and processes that run on this host. Fails if it names other ranks than were made to be. Needs python3.
#
#     tests/bench/hang.sh BUILD [RANKS]...
set -eu
build=$(cd "${1:?usage: hang.sh BUILD [RANKS]...}" && pwd)
shift
[ $# -gt 0 ] || set -- 1024
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

cat >measure.py <<'END'
import json, resource, subprocess, sys, time
ranks, kind = int(sys.argv[1]), sys.argv[2]
victim = ranks * 2 // 3
right = {"absent": ("outside_calls", [victim]), "half": ("outside_calls", list(range(1, ranks, 2))),
         "exchange": ("unmatched_point_to_point", [victim, victim + 1])}[kind]
begin = time.monotonic()
done = subprocess.run(sys.argv[3:], stdout=subprocess.PIPE)
took = time.monotonic() - begin
answer = json.loads(done.stdout)
named = sorted(int(culprit["rank"]) for culprit in answer["culprits"])
print("%6.2f s %5.0f MB  %s: %s" % (took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, answer["class"],
                                    ", ".join(map(str, named)) if len(named) < 5 else "%d ranks" % len(named)))
if (answer["class"], named) != right:
    sys.exit("expected %s: %s" % right)
END
echo "processors: $(nproc)"
printf '%6s  %-9s %9s  %s\n' ranks fault "traces MB" "hang --json"
for ranks in "$@"; do
	for kind in absent half exchange; do
		rm -rf run && mkdir run
		"$build/bin/hang_ranks" run "$ranks" 200 "$kind" $$
		printf '%6s  %-9s %9s  ' "$ranks" "$kind" "$(du -m run | cut -f 1)"
		python3 measure.py "$ranks" "$kind" "$build/bin/pmanalyze" hang --json --after 0 run
	done
done
