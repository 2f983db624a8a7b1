"""The phase of each kernel, by a framework's profiler and by pmanalyze: agree.py STEPS PROFILED PERFETTO.

PROFILED: what profiled.py printed last; PERFETTO: pmanalyze's export. Kernels are distinguished by their demangled names, which both have. Of the
device time of a step whose operation the profiler names 97% must be of kernels in the same phase, kernel by kernel; and pmanalyze may have no
more time in the phases than there is.
"""
import collections
import json
import re
import subprocess
import sys

steps = int(sys.argv[1])
PHASES = {"t_f": "forward", "t_b": "backward", "t_u": "update"}


def kernels(names):
    """By name: the kernel, alike for both: without types of results, blanks, or the number of an anonymous namespace's file."""
    known = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.split("\n")
    short = {}
    for name, text in zip(names, known):
        text = re.sub(r"\(anonymous namespace\)|_GLOBAL__N__\w+", "", text)
        text = re.sub(r"^void |\s|::", "", text)
        found = re.match(r"mem(set|cpy)", text.lower())
        short[name] = found[0] if found else text
    return short


def launches(count):
    """In a step, of so many in all: some are in each step, or not in the first, which has no momentum; what is tried out before it is in none."""
    often = round(count / (steps - 0.5))
    return often if count >= often * (steps - 1) else count // steps


def per_step(rows):
    """ns of a step by phase and kernel, of (phase, name, operation, times); each operation's launches are counted by themselves."""
    times_of, total, rows = collections.defaultdict(list), collections.Counter(), list(rows)
    short = kernels(sorted({row[1] for row in rows}))
    for phase, name, operation, times in rows:
        times_of[phase, short[name], operation] += times
    for (phase, name, _), times in times_of.items():
        often = launches(len(times))
        last = times[-often * (steps - 1):]  # after what was tried out
        total[phase, name] += often * sum(last) / len(last)
    return total


def used(path):
    """ns of a step by phase and kernel, of the iterations that pmanalyze uses."""
    with open(path) as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    steps_used = [event for event in events if event["cat"] == "iteration" and event["args"]["kind"] == "used"]
    begin, end = min(step["ts"] for step in steps_used), max(step["ts"] + step["dur"] for step in steps_used)
    slices = [event for event in events if event["cat"] == "device" and event["args"].get("phase") in PHASES and begin <= event["ts"] < end]
    short, total = kernels(sorted({event["name"] for event in slices})), collections.Counter()
    for event in slices:
        total[PHASES[event["args"]["phase"]], short[event["name"]]] += 1000 * event["dur"] / len(steps_used)
    return total


with open(sys.argv[2]) as file:
    theirs = per_step(json.loads(file.readlines()[-1]))
ours = used(sys.argv[3])
named = {key: ns for key, ns in theirs.items() if key[0] in PHASES.values()}
total, unknown = sum(named.values()), sum(ns for key, ns in theirs.items() if key not in named)
right = sum(min(ns, ours.get(key, 0)) for key, ns in named.items()) / total if total else 0
more = sum(ours.values()) - total


def phase_sums(times):
    return {phase: sum(ns for key, ns in times.items() if key[0] == phase) / 1000 for phase in PHASES.values()}


print("profiler and pmanalyze, us of a step: " + ", ".join(
    f"{phase} {ns:.1f} {phase_sums(ours)[phase]:.1f}" for phase, ns in phase_sums(named).items()))
for key in sorted(named, key=lambda key: ours.get(key, 0) - named[key])[:5]:
    if ours.get(key, 0) < named[key] - 1:
        print(f"{named[key] / 1000:.1f} us of {key[1][:60]} are {key[0]} by the profiler, {ours.get(key, 0) / 1000:.1f} by pmanalyze")
print(f"{right:.1%} of the time that the profiler names is of kernels in the same phase; of {unknown / (total + unknown):.1%} of all it does not "
      f"say the operation")
sys.exit(right < 0.97 or more > unknown + 0.03 * total)
