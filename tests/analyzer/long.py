#!/usr/bin/env python3
"""
long.py PMANALYZE MAKE_TRACE: of a long run a part is read. What is concluded from it is checked against the same run
read as a whole, the number of steps and the slow ones against what the program was made to do.
"""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

pmanalyze, make_trace = map(os.path.realpath, sys.argv[1:3])
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
STEPS = 6000
SLOW_EVERY = 777  # of the program "rarely", whose rank 1 takes 40 times as long then
RECORDS = "80000"
MORE = "650000"  # in more stretches, whose borders lie in other calls on each rank
bad = 0


def complain(text):
    global bad
    print("not ok:", text)
    bad = 1


def output(*arguments, status=0):
    done = subprocess.run([pmanalyze, *arguments], capture_output=True, text=True)
    if done.returncode != status:
        complain(f"{arguments}: exit status {done.returncode}: {done.stderr}")
    return done.stdout if status == 0 else done.stderr


def report(*arguments):
    return json.loads(output("report", "--json", *arguments))


def differ(name, one, other, within, path=""):
    """Says where two JSON values differ by more than a share, but for what tells how much was read."""
    if isinstance(one, dict):
        for key in one:
            if key not in ("warnings", "windows", "whole_run", "left_out", "iterations_found", "iterations_used",
                           "iterations", "confidence", "basis", "count", "outliers", "text", "title", "strength"):
                differ(name, one[key], other.get(key), within, f"{path}/{key}")
    elif isinstance(one, list):
        if len(one) != len(other or []):
            complain(f"{name}: {path}: {len(other or [])} items, {len(one)} of the whole")
        else:
            for i, (a, b) in enumerate(zip(one, other)):
                differ(name, a, b, within, f"{path}/{i}")
    elif isinstance(one, float) or isinstance(one, int):
        # what is small against a step, 0.3 ms, is not held to a share of itself
        least = 500 if "_ns" in path else 2e-3
        if other is None or abs(one - other) > max(within * abs(one), least):
            complain(f"{name}: {path}: {other}, {one} of the whole")
    elif one != other:
        complain(f"{name}: {path}: {other}, {one} of the whole")


for name in "one", "three", "rarely":
    os.mkdir(name)
    subprocess.run([make_trace, name, name, str(STEPS)], check=True)
    whole = report(name, "--records", "all")
    part = report(name, "--records", MORE if name == "three" else RECORDS)
    if "whole_run" in whole or not any("long run" in text for text in part["warnings"]):
        complain(f"{name}: not read in part: {part['warnings']}")
        continue
    if not 0.01 < part["iterations_used"] / STEPS < 0.34:
        complain(f"{name}: {part['iterations_used']} of {STEPS} iterations used")
    if part["whole_run"]["steps"] != STEPS:
        complain(f"{name}: {part['whole_run']['steps']} steps, expected {STEPS}")
    if name != "rarely":  # there it matters how many of the slow ones are read
        differ(name, whole, part, 1e-3)
    # a share of what was read, not of the time that the run took
    shares = [[int(finding["title"].split("%")[0].split()[-1]) for finding in run["findings"]
               if finding["kind"] == "evaluation"] for run in (whole, part)]
    if name == "one" and not (shares[0] and shares[1] and abs(shares[0][0] - shares[1][0]) <= 1):
        complain(f"{name}: evaluation takes {shares[1]}% of the time, {shares[0]}% of the whole")
    # without the option it is short, and read as a whole
    if report(name) != whole:
        complain(f"{name}: of {STEPS} steps not all are read")

# the slow steps, which nobody has read
run = report("rarely", "--records", RECORDS)["whole_run"]
slowest = sorted(item["step"] for item in run["longest"])
if slowest != [0, SLOW_EVERY, 2 * SLOW_EVERY]:
    complain(f"the longest steps: {slowest}")

# and what they are, when they are asked for: as of the whole
for steps in "777", "0-3", "4000-4100", f"{STEPS - 5}-{STEPS - 1}":
    whole = report("rarely", "--records", "all", "--steps", steps)
    part = report("rarely", "--records", RECORDS, "--steps", steps)
    first, last = (list(map(int, steps.split("-"))) * 2)[:2]
    if part["iterations_used"] != last - first + 1:
        complain(f"--steps {steps}: {part['iterations_used']} iterations used")
    differ(f"--steps {steps}", whole, part, 1e-9)
if "it has" not in output("report", "rarely", "--records", RECORDS, "--steps", str(STEPS), status=1):
    complain("a step beyond the last")

# each rank's iterations have the run's numbers
rows = {}
for row in csv.DictReader(io.StringIO(
        output("report", "--iterations", "--csv", "--records", RECORDS, "rarely"))):
    if row["phase"] == "iteration" and row["kind"] == "used":
        rows.setdefault(row["rank"], {})[int(row["iteration"])] = int(row["start_ns"]), int(row["exclusive_ns"])
whole = {}
for row in csv.DictReader(io.StringIO(output("report", "--iterations", "--csv", "--records", "all", "rarely"))):
    if row["phase"] == "iteration":
        whole[row["rank"], int(row["iteration"])] = int(row["start_ns"]), int(row["exclusive_ns"])
for rank, items in rows.items():
    wrong = [number for number, times in items.items() if whole[rank, number] != times]
    if wrong or max(items) < STEPS - 100 or sorted(rows) != ["0", "1"]:
        complain(f"rank {rank}: iterations {wrong[:5]} are others in the whole; the last is {max(items)}")

# the page has a picture of all steps
output("html", "-o", "page.html", "--records", RECORDS, "rarely")
page = open("page.html", encoding="utf-8").read()
if page.count(f"the longest is step {SLOW_EVERY}, ") != 2 or page.count("; read in detail") < 8:
    complain("the page's picture of the whole run")
output("html", "-o", "short.html", "one")
if "The whole run" in open("short.html", encoding="utf-8").read():
    complain("a picture of the whole run where all was read")

# a graph's kernels are no calls that could tell the steps
os.mkdir("graph")
subprocess.run([make_trace, "graph", "graph", str(STEPS)], check=True)
steps = report("graph", "--records", "8000").get("whole_run", {}).get("steps")
if steps != STEPS:
    complain(f"graph: {steps} steps, expected {STEPS}")

# what-ifs of all steps, communication hidden among them: memory grows with the steps, not with their square
os.environ["PM_READ_MEGABYTES"] = "500"
output("whatif", "--records", "all", "--sample", str(STEPS), "rarely")
del os.environ["PM_READ_MEGABYTES"]

# options that make no sense
if "--records" not in output("report", "one", "--records", "some", status=2):
    complain("--records some")
sys.exit(bad)
