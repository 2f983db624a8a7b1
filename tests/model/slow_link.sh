#!/bin/sh
# A job on a mesh of four ranks with one slow link: the link is named, what it costs is no more than that and most of it, and no rank is
# blamed; without the slow link there is no such finding.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "softgpu and the hook are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
. "$SOURCE/tests/undisturbed.sh"
export SOFTGPU_TIME_SCALE=50 MESH_ID=$PWD/id

make_run() {
	rm -rf "$1" "$MESH_ID"
	SOFTGPU_DISTURB=$2 "$bin/pmrun" -q -n 4 -o "$1" --softgpu=v100 -- "$bin/mesh"
	"$bin/pmanalyze" report --json "$1" >"$1.json"
}

cat >link.py <<'END'
import json
even, slow, rank = (json.load(open(name + ".json")) for name in ("even", "slow", "rank"))
bad = [item["title"] for item in even["findings"] if item["kind"] in ("slow_link", "straggler")]
for run, title in ((slow, "Slow link between rank 2 and rank 3"), (rank, "Slow link of rank 1")):
    links = [item for item in run["findings"] if item["kind"] == "slow_link"]
    cost = run["step"]["median_ns"] - even["step"]["median_ns"]
    bad += [item["title"] for item in run["findings"] if item["kind"] == "straggler"]
    if [item["title"] for item in links] != [title] or not 0.2 < links[0]["gain_ns"] / cost < 1.1:
        bad.append(f"{title}: {[(item['title'], item['gain_ns']) for item in links]}, cost {cost}")
print("\n".join(bad))
raise SystemExit(bool(bad))
END
the_three() {
	make_run even "" && make_run slow "link=2-3 bandwidth=0.33" && make_run rank "link=1-* bandwidth=0.33" && python3 link.py
}
undisturbed the_three
