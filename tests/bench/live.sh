#!/bin/sh
# What a look at a live job costs, of 1024 ranks (or RANKS) with traces of 200 steps of 41 calls, whose processes run on this host: pmanalyze
# metrics, top and agent by the pages of figures, and report, which reads the traces. Fails if top and metrics say other figures than were
# made. Needs python3.
#
#     tests/bench/live.sh BUILD [RANKS]...
set -eu
build=$(cd "${1:?usage: live.sh BUILD [RANKS]...}" && pwd)
shift
[ $# -gt 0 ] || set -- 1024
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

cat >measure.py <<'END'
import json, re, resource, subprocess, sys, time
pmanalyze, ranks = sys.argv[1], int(sys.argv[2])
victim, steps, step_ns = ranks * 2 // 3, 200, 410000


def run(*arguments):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(["/usr/bin/env", pmanalyze, *arguments, "run"], stdout=subprocess.PIPE, text=True, check=True)
    took, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print("%6d  %-16s %7.2f s %7.2f s of a processor %6.0f MB at most so far" % (ranks, " ".join(arguments), took, processor, after.ru_maxrss / 1024))
    if arguments[0] != "report" and (processor > 2 or after.ru_maxrss > 500 * 1024):
        sys.exit("more than 2 s, or 500 MB")
    return done.stdout


top = json.loads(run("top", "--json"))
rows = {row["rank"]: row for row in top["ranks"]}
if top["source"] != "pages" or len(rows) != ranks or top["iterations"] != steps or abs(top["iteration_ns"] - step_ns) > 1:
    sys.exit("top: %s, %d ranks, %s, %s" % (top["source"], len(rows), top["iterations"], top["iteration_ns"]))
if abs(rows[victim]["compute_ns"] / rows[0]["compute_ns"] - 1.5) > 1e-6 or rows[0]["wait_ns"] is not None:
    sys.exit("top: rank %d: %s" % (victim, rows[victim]))
if abs(top["compute_imbalance"] - 1.5 / (1 + 0.5 / ranks)) > 1e-6:
    sys.exit("top: imbalance %s" % top["compute_imbalance"])
samples = dict(re.findall(r"^(pmhook_\S+) (\S+)$", run("metrics"), re.M))
name = 'run="run",rank="%d"' % victim
for key, value in (("iterations", steps), ("iteration_seconds", step_ns / 1e9), ("calls", steps * 41), ("ended", 0)):
    if abs(float(samples["pmhook_%s{%s}" % (key, name)]) - value) > 1e-9:
        sys.exit("metrics: %s of rank %d: %s" % (key, victim, samples["pmhook_%s{%s}" % (key, name)]))
if not re.search('pmhook_straggler{.*rank="%d"' % victim, run("agent", "--once")):
    sys.exit("agent: another straggler")
if ranks <= 2048:
    run("report")
END
echo "processors: $(nproc)"
for ranks in "$@"; do
	rm -rf run && mkdir run
	"$build/bin/hang_ranks" run "$ranks" 200 absent $$
	python3 measure.py "$build/bin/pmanalyze" "$ranks"
done
