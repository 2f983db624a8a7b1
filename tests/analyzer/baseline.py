#!/usr/bin/env python3
"""baseline.py PMANALYZE MAKE_TRACE: a baseline over commits judges a new run with the spread between runs that it has seen, by a
t test that is worked out here again from the file's numbers; and what it says to careless users."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

pmanalyze, make_trace = map(os.path.realpath, sys.argv[1:3])
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
bad = 0
# P(T <= t) = 0.95 (tables)
T95 = {2: 2.91999, 4: 2.13185, 8: 1.85955, 10: 1.81246}


def complain(text):
    global bad
    print("not ok:", text)
    bad = 1


def baseline(*arguments):
    done = subprocess.run([pmanalyze, "baseline", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def expect(status, part, *arguments):
    got, out, error = baseline(*arguments)
    if got != status or part not in out + error:
        complain(f"{arguments}: status {got}, expected {status} and '{part}': {out}{error}")
    return out


os.mkdir("one")
subprocess.run([make_trace, "one", "one"], check=True)
expect(0, "speed.json: 1 run\n", "add", "--name", "c0", "speed.json", "one")
measured = json.load(open("speed.json"))["runs"][0]
report = json.loads(subprocess.run([pmanalyze, "report", "--json", "one"], check=True, capture_output=True, text=True).stdout)
if "one" not in json.dumps(report) or measured["step_ns"] <= 0 or measured["gpus"] != 1:
    complain(f"{measured}")
expect(4, "1 comparable runs", "check", "--fail-if-slower", "5%", "speed.json", "one")


def write(steps, name="speed.json", device=True):
    """Runs whose times are so many times the measured run's; (commit, factor)."""
    runs = [measured | {"name": commit, "step_ns": measured["step_ns"] * factor,
                        "device_ns": (measured["device_ns"] or measured["step_ns"]) * factor if device else None}
            for commit, factor in steps]
    json.dump({"pmhook_baseline": 1, "runs": runs}, open(name, "w"))


# Five commits with three runs each: the spread is within commits, with 10 degrees of freedom, though commits differ by 2%.
random.seed(5)
steps = [(f"c{c}", (1 + 0.02 * (c % 2)) * (1 + random.gauss(0, 0.01))) for c in range(5) for _ in range(3)]


def bounds(steps, used, margin):
    """95% to each side of the change of a run at 1 against the mean of the last `used`."""
    groups = {}
    for commit, factor in steps:
        groups.setdefault(commit, []).append(factor)
    squares = sum((f / (sum(g) / len(g)) - 1) ** 2 for g in groups.values() for f in g)
    freedom = len(steps) - len(groups)
    base = sum(f for _, f in steps[-used:]) / used
    error = math.sqrt(squares / freedom) * math.sqrt(1 + (1 + margin) ** 2 / used)
    change = 1 / base - 1
    return change, change - T95[freedom] * error, change + T95[freedom] * error


write(steps)
for used in 5, 3:
    for margin in 0.05, 0.005:
        status, out, error = baseline("check", "--json", "--gate-by", "step", "--last", str(used), "--fail-if-slower", str(margin),
                                      "speed.json", "one")
        step = json.loads(out)["step"]
        expected = bounds(steps, used, margin)
        for key, value in zip(("change", "low", "high"), expected):
            if abs(step[key] - value) > 1e-5:
                complain(f"{used} runs, {margin}: {key} {step[key]}, expected {value}")
        right = 3 if expected[1] > margin else 0 if expected[2] <= margin else 4
        if status != right:
            complain(f"{used} runs, {margin}: status {status}, expected {right}: {error}")

# The base was 10% faster than this run, or as fast.
write([(commit, factor / 1.1) for commit, factor in steps])
expect(3, "one fails: slower than speed.json (5 runs, c3 to c4) by more than the 5% allowed", "check", "--gate-by", "step",
       "--fail-if-slower", "5%", "speed.json", "one")
# A level that changes between commits with one run each is no spread: the successive differences hold it once.
jump = [(f"c{i}", (0.8 if i < 10 else 1) * (1 + random.gauss(0, 0.005))) for i in range(30)]
write(jump)
out = expect(0, "one to the next", "check", "--gate-by", "step", "--fail-if-slower", "15%", "speed.json", "one")
write([("c", 1), ("c", 1.01)])
expect(4, "3 are needed", "check", "--fail-if-slower", "5%", "speed.json", "one")

table = json.loads(expect(0, "", "show", "--json", "speed.json"))
if [run["name"] for run in table["runs"]] != ["c", "c"]:
    complain(f"show: {table}")
expect(2, "no margin given", "check", "speed.json", "one")
expect(2, "expected add, check or show", "list", "speed.json")
expect(2, "no run given", "add", "speed.json")
expect(1, "none", "show", "none.json")
open("text.json", "w").write('{"runs": []}')
expect(1, "not a baseline of this version", "show", "text.json")
open("text.json", "w").write('{"pmhook_baseline": 1, "runs": [{}]}')
expect(1, "run 1 has no step_ns", "add", "text.json", "one")
sys.exit(bad)
