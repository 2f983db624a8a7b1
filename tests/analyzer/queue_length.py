#!/usr/bin/env python3
"""How much work is launched and has not started, over time: queue_length.py PMANALYZE. Of a made-up job, whose launches and kernels are counted
here at each moment from the file itself, by correlation.
"""
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile

import jobs

PMANALYZE = os.path.abspath(sys.argv[1])
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


def moments(path):
    """By stream: (launch, start) in ns of each piece of work."""
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    launched = {event["args"]["correlation"]: event["ts"] for event in events if event["cat"] == "cuda_runtime"}
    streams = {}
    for event in events:
        if event["cat"] in ("kernel", "gpu_memcpy"):
            work = (round(1000 * launched[event["args"]["correlation"]]), round(1000 * event["ts"]))
            streams.setdefault(event["args"]["stream"], []).append(work)
    return streams


def length_at(work, ns):
    return sum(1 for launch, start in work if launch <= ns < start)


def check_stream(rank, stream, work, rows, summary):
    place = f"rank {rank}, stream {stream}"
    times = sorted({ns for pair in work for ns in pair})
    last = {round(float(row["at_ns"])): int(row["length"]) for row in rows}
    first = times[0] - min(last)
    wrong = [ns for ns in times if last.get(ns - first) != length_at(work, ns)]
    check(not wrong and len(last) == len(times), f"{place}: {len(wrong)} of {len(times)} lengths are wrong")
    spans = [(length_at(work, one), other - one) for one, other in zip(times, times[1:])]
    whole = times[-1] - times[0]
    mean = sum(length * ns for length, ns in spans) / whole
    check(abs(summary["mean"] - mean) < 1e-6 * max(mean, 1), f"{place}: mean {summary['mean']}, not {mean}")
    check(abs(summary["empty_share"] - sum(ns for length, ns in spans if length == 0) / whole) < 1e-9, f"{place}: empty {summary['empty_share']}")
    check(summary["most"] == max(length for length, _ in spans) and summary["launches"] == len(work), f"{place}: {summary}")
    below = sum(ns for length, ns in spans if length < summary["median"]), sum(ns for length, ns in spans if length <= summary["median"])
    check(below[0] <= whole / 2 <= below[1], f"{place}: median {summary['median']}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        jobs.write(scratch, ranks=2, steps=6)
        run = [PMANALYZE, "kernels", "--queue"]
        rows = list(csv.DictReader(io.StringIO(subprocess.run(run + ["--csv", scratch], capture_output=True, check=True).stdout.decode())))
        queues = json.loads(subprocess.run(run + ["--json", scratch], capture_output=True, check=True).stdout)["runs"][0]["queues"]
        check("launched and not started" in subprocess.run(run + [scratch], capture_output=True, check=True).stdout.decode().lower(), "no heading")
        for rank in range(2):
            for stream, work in moments(os.path.join(scratch, f"rank-{rank}.json.gz")).items():
                own = [row for row in rows if row["worker"] == f"rank {rank}" and int(row["stream"]) == stream]
                summary = [row for row in queues if row["worker"] == f"rank {rank}" and row["stream"] == stream]
                check(len(summary) == 1, f"rank {rank}, stream {stream}: {len(summary)} rows")
                check_stream(rank, stream, work, own, summary[0])
        check(len(queues) == 4, f"{len(queues)} streams")
    print("\n".join(failures + [f"{len(queues)} streams, {len(failures)} wrong"]))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
