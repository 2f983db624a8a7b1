#!/usr/bin/env python3
"""The same kernels, copies and sets, with the same times, in torch.profiler's trace and in the hook's, of one run each.

    against_profiler.py KINETO.json RECORDS.csv      (pmanalyze dump --records --csv)

Prints both numbers and sums. Both are in order of start; of a model clock each duration is the same to the rounding of torch.profiler's
conversion of ticks: 0.1% or 10 ns.
"""
import csv
import json
import sys

with open(sys.argv[1]) as file:
    events = [e for e in json.load(file)["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
theirs = [1000 * float(e["dur"]) for e in sorted(events, key=lambda e: float(e["ts"]))]
with open(sys.argv[2], newline="") as file:
    device = [(int(r["start_ns"]), int(r["duration_ns"])) for r in csv.DictReader(file) if r["kind"] == "device"]
ours = [duration for _, duration in sorted(device)]


def differing(first):
    """The hook also sees what comes before and after the profiler's part, which begins at this one of its intervals."""
    part = ours[first : first + len(theirs)]
    return sum(abs(a - b) > max(0.001 * b, 10) for a, b in zip(theirs, part)), sum(part)


if not theirs or len(ours) < len(theirs):
    sys.exit("torch.profiler has %d intervals, pmhook %d" % (len(theirs), len(ours)))
off, total = min(differing(first) for first in range(len(ours) - len(theirs) + 1))
print("%d kernels, copies and sets: torch.profiler %.0f ns, pmhook %d ns; %d differ" % (len(theirs), sum(theirs), total, off))
sys.exit(1 if off else 0)
