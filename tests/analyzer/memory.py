#!/usr/bin/env python3
"""pmanalyze memory: the peak of PyTorch's memory snapshots by line and module, against an allocator that is simulated here.

usage: memory.py PMANALYZE

A program allocates and frees blocks in a random order (seeded); this script keeps what is live itself. The snapshot has the history
from some event on, as a ring of _record_memory_history has it, and is written as pickles and as JSON.
"""
import csv
import gzip
import io
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile

from checking import check, verdict

program = os.path.abspath(sys.argv[1])


def run(*arguments):
    done = subprocess.run([program, "memory", *arguments], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode in (0, 1, 2), f"{arguments}: exit status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout, done.stderr, done.returncode


def frames(place):
    line, module = place
    found = [{"filename": "??", "line": 0, "name": "torch::autograd::THPVariable_randn"},
             {"filename": "/opt/venv/lib/python3.11/site-packages/torch/_tensor.py", "line": 5, "name": "wrapped"}]
    if module:
        found += [{"filename": f"/opt/torch/nn/modules/{module}", "line": 125, "name": "forward"},
                  {"filename": "/opt/torch/nn/modules/module.py", "line": 1700, "name": "_call_impl"}]
    return found + ([{"filename": "train.py", "line": line, "name": "step"}] if line else [])


PLACES = [(10, "linear.py"), (10, "conv.py"), (31, ""), (0, "")]


def simulate(seed, events=400, skipped=100, keep=True):
    """What the program did: the snapshot, and what is live at the peak of the history, by place."""
    chance, live, history, address = random.Random(seed), {}, [], 1 << 40
    peak, at_peak, peak_at = -1, {}, 0

    def look(number):
        nonlocal peak, at_peak, peak_at
        allocated = sum(size for size, _ in live.values())
        if number >= skipped and allocated > peak:
            peak, at_peak, peak_at = allocated, dict(live), number

    for number in range(events):
        look(number) if number == skipped else None
        if live and chance.random() < (0.3 if number < events / 2 else 0.6):
            freed = chance.choice(sorted(live))
            size, place = live.pop(freed)
            history.append({"action": "free_requested", "addr": freed, "size": size, "stream": 0, "time_us": 1000 + number, "frames": []})
            history.append({"action": "free_completed", "addr": freed, "size": size, "stream": 0, "time_us": 1000 + number, "frames": []})
        else:
            freed = [row["addr"] for row in history if row["action"] == "free_completed" and row["addr"] not in live]
            where = freed[-1] if freed and chance.random() < 0.5 else address
            address += 1 << 20
            size, place = 512 * chance.randrange(1, 2000), PLACES[chance.randrange(len(PLACES))]
            live[where] = (size, place)
            history.append({"action": "alloc", "addr": where, "size": size, "stream": 0, "time_us": 1000 + number, "frames": frames(place)})
        look(number + 1)
    recorded = [row for row in history if row["time_us"] >= 1000 + skipped] if keep else []
    blocks = [{"address": where, "size": size, "requested_size": size - 1, "state": "active_allocated", "frames": frames(place)}
              for where, (size, place) in sorted(live.items())]
    blocks.append({"address": 1, "size": 7 << 20, "state": "inactive", "frames": []})
    total = sum(block["size"] for block in blocks)
    snapshot = {"segments": [{"device": 0, "address": 1 << 40, "total_size": total, "allocated_size": total - (7 << 20), "blocks": blocks}],
                "device_traces": [recorded, []], "allocator_settings": {"expandable_segments": False}}
    return snapshot, live if not keep else at_peak, peak if keep else sum(size for size, _ in live.values()), total, peak_at - skipped


def by_place(blocks, recorded):
    """Bytes by line and module; of what was allocated before the history and freed in it nothing is known."""
    sums = {}
    for where, (size, (line, module)) in blocks.items():
        key = (f"train.py:{line} in step" if line else "-", f"{module}:125 in forward" if module else "")
        sums[key if where in recorded else ("(before the history)", "")] = sums.get(key if where in recorded else ("(before the history)", ""), 0) + size
    return sums


def known_at(snapshot, live, place_of_peak):
    """Addresses whose place is known: allocated in the history before the peak, or held to the end."""
    known = {row["addr"] for row in place_of_peak if row["action"] == "alloc"}
    freed_first = set()
    seen = set()
    for row in snapshot["device_traces"][0]:
        if row["action"] == "alloc":
            seen.add(row["addr"])
        elif row["action"] == "free_requested" and row["addr"] not in seen:
            freed_first.add(row["addr"])
            seen.add(row["addr"])
    held = {block["address"] for block in snapshot["segments"][0]["blocks"] if block["state"] == "active_allocated"}
    return {where for where in live if where in known or (where in held and where not in freed_first and where not in
                                                          {row["addr"] for row in snapshot["device_traces"][0]})}


def check_snapshot(seed, path, keep=True, skipped=100):
    snapshot, live, peak, total, at = simulate(seed, keep=keep, skipped=skipped)
    data = json.dumps(snapshot).encode() if path.endswith((".json", ".gz")) else pickle.dumps(snapshot, 2 + seed % 4)
    with open(path, "wb") as file:
        file.write(gzip.compress(data) if path.endswith(".gz") else data)
    out, err, status = run("--json", path)
    check(status == 0, f"{path}: {err}")
    device = json.loads(out)["devices"][0]
    check(device["allocated_bytes"] == peak, f"{path}: {device['allocated_bytes']} bytes at the peak, not {peak}")
    check(device["history"] == keep and device["reserved_bytes"] == total, f"{path}: reserved {device['reserved_bytes']}, not {total}")
    places = {(row["line"], row["module"]): row["bytes"] for row in device["places"]}
    check(sum(places.values()) == peak, f"{path}: places do not add up to the peak")
    before_peak = [row for row in snapshot["device_traces"][0] if row["time_us"] < 1000 + skipped + at]
    expected = by_place(live, known_at(snapshot, live, before_peak) if keep else set(live))
    check(places == expected, f"{path}: {places}, not {expected}")
    check(not keep or device["at_ns"] is None or at == 0 or device["at_ns"] / 1000 == at - 1 - (before_peak[0]["time_us"] - 1000 - skipped),
          f"{path}: the peak at {device['at_ns']}, not after {at} events")


def check_hostile():
    snapshot = simulate(3)[0]
    whole = pickle.dumps(snapshot, 4)
    for cut in (0, 3, 50, len(whole) // 2, len(whole) - 1):
        with open("cut.pickle", "wb") as file:
            file.write(whole[:cut])
        _, err, status = run("cut.pickle")
        check(status == 1 and err.startswith("pmanalyze: cut.pickle"), f"cut at {cut}: {status} {err}")
    odd = [{}, [], {"segments": 3}, {"segments": [{"device": 1 << 40}]}, {"segments": [], "device_traces": [[]]}]
    for number, content in enumerate(odd):
        with open("odd.json", "w", encoding="utf-8") as file:
            json.dump(content, file)
        _, err, status = run("odd.json")
        check(status == 1 and "odd.json: " in err, f"odd {number}: {status} {err}")
    half = {"segments": [{"total_size": -5, "blocks": [3, {"state": "active_allocated", "size": 1e300, "frames": [7, {"filename": 4}]}]}],
            "device_traces": [[1, {"action": "alloc"}, {"action": "free_requested", "addr": -1, "size": "x"}, {"action": "oom", "size": 1 << 33}]]}
    with open("half.json", "w", encoding="utf-8") as file:
        json.dump(half, file)
    out, _, status = run("half.json")
    check(status == 0 and "Out of memory: 1 time, the last for 8.59 GB" in out, f"half: {out}")

    class Evil:
        def __reduce__(self):
            return os.system, ("touch evil",)
    with open("evil.pickle", "wb") as file:
        file.write(pickle.dumps({"segments": [], "device_traces": [], "x": Evil()}))
    run("evil.pickle")
    check(not os.path.exists("evil"), "a pickle was executed")
    report = subprocess.run([program, "report", "a0.pickle"], capture_output=True, text=True, check=False)
    check("a memory snapshot of PyTorch: pmanalyze memory reads it" in " ".join(report.stderr.split()), f"report: {report.stderr}")


def main():
    with tempfile.TemporaryDirectory(prefix="pm_memory.") as folder:
        os.chdir(folder)
        for seed in range(8):
            check_snapshot(seed, f"a{seed}.pickle")
        check_snapshot(9, "b.json")
        check_snapshot(10, "b.json.gz")
        check_snapshot(11, "c.pickle", keep=False)
        check_snapshot(12, "d.pickle", skipped=0)
        out, _, _ = run("c.pickle")
        check("no history was recorded" in " ".join(out.split()), "a snapshot without history has a peak")
        rows = list(csv.DictReader(io.StringIO(run("--csv", "a0.pickle")[0])))
        check(rows and set(rows[0]) == {"bytes", "share", "blocks", "line", "module"}, "CSV")
        check_hostile()
        os.chdir("/")
    return verdict("memory")


if __name__ == "__main__":
    sys.exit(main())
