#!/bin/sh
# Runs on softgpu's model clock with one disturbance each: the report's first finding is that disturbance, all commands agree
# (tests/analyzer/findings.py), and its gain is no more than what the disturbance costs by the model clock, and most of that.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
. "$SOURCE/tests/undisturbed.sh"
# Hosts share processors: what they lose to each other must be small beside an iteration.
export SOFTGPU_PROFILE=v100 SOFTGPU_TIME_SCALE=50

train() {
	rm -rf "$1"
	SOFTGPU_DISTURB=$2 "$bin/pmrun" -q -n 3 -o "$1" --softgpu -- "$bin/train_cnn" --synthetic --batch 768 --iterations 16 \
		--print 0 >"$1.out" 2>&1
}

the_three() {
	train even ""
	train layer "rank=2 layer=conv2 slow=3"
	train rank "rank=1 slow=1.5"
	for run in even layer rank; do
		"$bin/pmanalyze" report --json $run >$run.json || return 1
	done
	python3 "$SOURCE/tests/analyzer/findings.py" "$bin/pmanalyze" "$bin/make_trace" "" "$PWD/even" "$PWD/layer" "$PWD/rank" &&
		python3 first_findings.py
}

cat >first_findings.py <<'END'
import json
even, layer, rank = (json.load(open(name + ".json")) for name in ("even", "layer", "rank"))
bad = [item["title"] for item in even["findings"] if item["kind"] == "straggler"]
computing = lambda run, rank: sum(row["busy_mean_ns"] for row in run["workers"]
                                  if row["rank"] == rank and row["phase"] in ("forward", "backward", "update", "h2d"))
for run, subject, number, cause in ((layer, "rank 2, conv2", 2, "layer"), (rank, "rank 1", 1, "slower")):
    first = run["findings"][0]
    cost = computing(run, number) - computing(even, number)
    if (first["kind"], first["subject"], first["cause"]) != ("straggler", subject, cause) or not 0.5 < first["gain_ns"] / cost < 1.02:
        bad.append(f"{first['title']}: {first['gain_ns']}, cost {cost}")
print("\n".join(bad))
raise SystemExit(bool(bad))
END
undisturbed the_three
