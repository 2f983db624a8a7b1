#!/usr/bin/env python3
"""sources.py PMANALYZE MAKE_TRACE: top, metrics, balance and hang of summaries say what they say of the traces that these were made of, as
far as summaries have it; what they do not have is said, or null."""
import json
import os
import re
import subprocess
import sys
import tempfile

pmanalyze, make_trace = map(os.path.realpath, sys.argv[1:3])
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
bad = 0


def complain(text):
    global bad
    print("not ok:", text)
    bad = 1


def output(*arguments, status=0):
    done = subprocess.run([pmanalyze, *arguments], capture_output=True, text=True)
    if done.returncode != status:
        complain(f"{arguments}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def near(name, value, expected):
    # summaries keep medians with seven digits
    if value is None or expected is None or abs(value - expected) > 1e-6 * abs(expected):
        complain(f"{name}: {value}, expected {expected}")


for name in "three", "killed":
    os.mkdir(name)
    os.mkdir(f"sums.{name}")
    subprocess.run([make_trace, name, name], check=True)
    output("reduce", "-o", f"sums.{name}", name)

# fewer iterations than the last 20, so medians of all are those of the last
traces, sums = (json.loads(output("top", "--json", name)) for name in ("three", "sums.three"))
if (traces["source"], sums["source"]) != ("traces", "summaries"):
    complain(f"sources {traces['source']}, {sums['source']}")
for key in "iterations", "iteration_ns", "compute_imbalance":
    near(key, sums[key], traces[key])
if sums["slowest"] != traces["slowest"] or sums["findings"][0]["subject"] != traces["findings"][0]["subject"]:
    complain(f"straggler {sums.get('slowest')}, expected {traces['slowest']}")
if len(sums["ranks"]) != 3 or sums["before_ns"] is not None or sums["device_bytes"] is not None:
    complain("known of summaries: what they do not have")
for row, expected in zip(sums["ranks"], traces["ranks"]):
    for key in "rank", "device", "iterations", "iteration_ns", "compute_ns", "exposed_ns", "input_ns":
        near(f"rank {expected['rank']}: {key}", row[key], expected[key])
if "Straggler rank 2" not in output("top", "sums.three"):
    complain("top does not name the straggler")

samples = [dict(re.findall(r'^(pmhook_\w+)\{run="[^"]*",?(.*\} \S+)$', output("metrics", name), re.M)) for name in ("three", "sums.three")]
if not {"pmhook_iterations", "pmhook_iteration_seconds", "pmhook_phase_seconds", "pmhook_compute_imbalance", "pmhook_ended"} <= set(samples[1]):
    complain(f"metrics of summaries: {set(samples[1])}")
if samples[0]["pmhook_iterations"] != samples[1]["pmhook_iterations"]:
    complain(f"metrics: {samples[1]['pmhook_iterations']}, expected {samples[0]['pmhook_iterations']}")

balance = json.loads(output("balance", "--json", "sums.three"))["runs"][0]
whole = json.loads(output("balance", "--json", "three"))["runs"][0]
if [c["worker"] for c in balance["causes"]] != [c["worker"] for c in whole["causes"]] or balance["causes"][0]["cause"] != whole["causes"][0]["cause"]:
    complain(f"balance: {balance['causes']}, expected {whole['causes']}")
if "Straggler rank 2" not in output("balance", "sums.three") or "ranks" not in balance or not output("balance", "--csv", "sums.three"):
    complain("balance of summaries")

if "ended in order" not in output("hang", "sums.three") or json.loads(output("hang", "--json", "sums.three"))["class"] != "none":
    complain("hang of a run that ended")
killed = json.loads(output("hang", "--json", "sums.killed"))
if killed["class"] != "unknown" or killed["without_end"] != 1 or "Not ended: rank 0" not in output("hang", "sums.killed"):
    complain(f"hang of a killed run: {killed}")

# careless hands
for command in "top", "metrics", "balance", "hang":
    output(command, "sums.three", "three", status=2)
output("top", "--from", "nowhere", "three", status=2)
output("metrics", "--from", "pages", ".", status=1)
sys.exit(bad)
