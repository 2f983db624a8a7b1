#!/usr/bin/env python3
"""Holds pmanalyze slowdown against what StragglerAnalysis published for real jobs: real_slowdown.py PMANALYZE FOLDER (or
PM_TRACES in the environment).

Of each folder with labelled phases (result-NAME.json beside traces/): step times as measured, without launch delays and
ideal, S overall and per step, by operation, stage and data rank, M_W, M_S, and the cause that reference.json names. Exit 77
where there are none.
"""
import glob
import json
import os
import subprocess
import sys

pmanalyze = sys.argv[1]
folder = os.environ.get("PM_TRACES") or sys.argv[2]
TIGHT = 1e-5  # the published figures were computed in single precision
CAUSES = {"stage partitioning imbalance": "stages", "artificial slowdown of one worker": "workers"}
failures = 0
compared = 0


def same(got, expected, what, tolerance=TIGHT):
    global failures, compared
    compared += 1
    if got is None or abs(got - expected) > tolerance * abs(expected):
        failures += 1
        print(f"{what}: {got}, expected {expected}")


def load(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def once(pairs):
    """An object whose names are all different: a name written twice hides the first value."""
    names = [name for name, _ in pairs]
    same(len(set(names)), len(names), f"names in {names[:3]}...", 0)
    return dict(pairs)


def compare(home, path):
    published = load(path)
    result = subprocess.run([pmanalyze, "slowdown", "--json", os.path.join(home, "traces")], capture_output=True,
                            text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"pmanalyze slowdown: exit status {result.returncode}: {result.stderr}")
    answer = json.loads(result.stdout, object_pairs_hook=once)
    same(len(answer["steps"]), len(published["step_t_base"]), "steps", 0)
    for row in answer["steps"]:
        step = str(row["step"])
        # published from the recording, of which the timeline has the operations only
        same(row["measured_ns"] / 1e9, published["step_t_base"][step], f"step {step} measured", 1e-3)
        same(row["replayed_ns"] / 1e9, published["step_t_nodelay"][step], f"step {step} T")
        same(row["ideal_ns"] / 1e9, published["step_t_noblk"][step], f"step {step} T ideal")
        same(row["slowdown"], published["blocking_step_slowdown"][step], f"step {step} S")
    same(answer["slowdown"], published["blocking_slowdown"], "S")
    same(answer["launch_slowdown"], published["launch_slowdown"], "launch slowdown", 1e-3)
    for table, column, key in (("operations", "operation", "optype"), ("stages", "stage", "stage"),
                               ("data_ranks", "data_rank", "dp_rank")):
        expected = published[f"blocking_decompose_by_{key}"] or {}
        rows = {row[column].split()[-1]: row["slowdown"] for row in answer[table]}
        for name, value in expected.items():
            same(rows.get(name), value, f"S of {key} {name}")
    for file, theirs, ours in (("ms-", "Ms", "last_stage_explained"), ("mw-", "Mw", "worst_workers_explained")):
        beside = path.replace("result-", file)
        if os.path.exists(beside):
            same(answer[ours], load(beside)[theirs], theirs, 1e-4)
    reference = os.path.join(home, "reference.json")
    if os.path.exists(reference):
        cause = load(reference)["published"]["cause"]
        same(answer["cause"] == CAUSES.get(cause), 1, f"cause {answer['cause']}, published: {cause}", 0)


if not os.path.isdir(folder):
    print("no folder of real traces: PM_TRACES says where it is")
    sys.exit(77)
for found in sorted(glob.glob(os.path.join(folder, "*", "result-*.json"))):
    compare(os.path.dirname(found), found)
print(f"{compared} figures compared, {failures} differ")
if compared == 0:
    sys.exit(77)
sys.exit(1 if failures else 0)
