#!/usr/bin/env python3
"""Traces of constant size (PMHOOK_MODE=ring), against what the program itself counted and against a trace of all of it.

    ring.py HOST TRAINER PMANALYZE [trainer]      (what is run is the command in $WITH, which ends with the program)

While a program runs, after it was killed at any moment, with several threads, and across a fork: the statistics and the records that
are left make up the calls that it made, each once. Of a trainer with the model clock: counts and sums of all operations are those of the
full trace, quantiles are within 1%, and the last records are its last records; the size does not depend on the length.
"""
import csv
import glob
import io
import json
import mmap
import os
import shutil
import struct
import subprocess
import sys

HOST, TRAINER, PMANALYZE = sys.argv[1:4]
WITH = os.environ.get("WITH", "").split()
SLOTS = 12 * 4092  # of the part of a ring of 1 MiB that is used again
bad = 0


def check(good, what):
    global bad
    if not good:
        print("not ok:", what)
        bad = 1


def environment(folder, **more):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    return dict(os.environ, PMHOOK_OUT=os.path.abspath(folder), PMHOOK_RING_MB="1", **more)


def dump(path, *options):
    answer = subprocess.run([PMANALYZE, "dump", "--json", *options, path], capture_output=True, text=True)
    check(answer.returncode == 0 and not answer.stderr, f"pmanalyze dump {path}: {answer.stderr}")
    return json.loads(answer.stdout)


def records(path):
    """As (kind, start, duration, operation)."""
    text = subprocess.run([PMANALYZE, "dump", "--records", "--csv", path], capture_output=True, text=True, check=True).stdout
    return [(r["kind"], int(r["start_ns"]), int(r["duration_ns"]), int(r["op"])) for r in csv.DictReader(io.StringIO(text))]


def counts(trace, function):
    """Of the calls of a function over the whole run."""
    return sum(row["count"] for row in trace["statistics"] if row["function"] == function)


def traces(folder):
    return sorted(glob.glob(f"{folder}/*.pmtrace"), key=os.path.getmtime)


# ---- a program that counts ----


def whole(threads, count):
    name = f"threads{threads}"
    subprocess.run([*WITH, HOST, str(count), str(threads)], env=environment(name, PMHOOK_DEVICE="none", PMHOOK_MODE="ring"), check=True)
    trace = dump(traces(name)[0], "--statistics")
    n = counts(trace, "cudaStreamWaitEvent")
    check(n == threads * count, f"{threads} threads: {n} calls, expected {threads * count}")
    check(trace["ring"]["dropped_calls"] > SLOTS, f"{threads} threads: only {trace['ring']['dropped_calls']} calls were dropped")
    check(trace["lost_records"] == 0 and trace["ring"]["uncounted"] == 0, f"{threads} threads: losses")
    check(os.path.getsize(traces(name)[0]) < 3 << 20, f"{threads} threads: {os.path.getsize(traces(name)[0])} bytes")


def forked(mode):
    name = f"fork_{mode}"
    subprocess.run([*WITH, HOST, "120000", "fork"], env=environment(name, PMHOOK_DEVICE="none", PMHOOK_MODE=mode), check=True)
    for path in traces(name):
        n = counts(dump(path, "--statistics"), "cudaStreamWaitEvent")
        check(n == 120000, f"{mode}, {'child' if '.2.' in path else 'parent'}: {n} calls, expected 120000")
    check(len(traces(name)) == 2, f"{mode}: {len(traces(name))} traces")


def sizes():
    """What cannot be is said, and the nearest is used."""
    for asked, used in ("0", 1), ("5000", 1024), ("2", 2):
        environment_of = environment(f"size{asked}", PMHOOK_DEVICE="none", PMHOOK_MODE="ring")
        subprocess.run([*WITH, HOST, "10", "1"], env=dict(environment_of, PMHOOK_RING_MB=asked), check=True)
        trace = dump(traces(f"size{asked}")[0])
        check(trace["ring"]["record_bytes"] == used << 20, f"{asked} MB: {trace['ring']['record_bytes']} bytes")
        said = [note for note in trace["notes"] if "PMHOOK_RING_MB" in note]
        check(len(said) == (asked != str(used)), f"{asked} MB: {trace['notes']}")


class Running:
    """A host with endless calls, and its own count of them."""

    def __init__(self, name, threads):
        environment_of = environment(name, PMHOOK_DEVICE="none", PMHOOK_MODE="ring")
        self.folder, self.threads = name, threads
        with open(f"{name}/counters", "w+b") as file:
            file.truncate(4096)
            self.counters = mmap.mmap(file.fileno(), 4096)
        self.host = subprocess.Popen([*WITH, HOST, "1000000000000", str(threads), f"{name}/counters"], env=environment_of)

    def count(self):
        return sum(struct.unpack(f"{self.threads}Q", self.counters[:8 * self.threads]))

    def wait_for(self, count):
        while self.count() < count:
            if self.host.poll() is not None:
                raise SystemExit(f"the host ended with {self.host.returncode}")

    def kill(self):
        self.host.kill()
        self.host.wait()


def snap(path, folder):
    """A copy, which nobody writes."""
    shutil.rmtree(folder, ignore_errors=True)
    answer = subprocess.run([PMANALYZE, "snap", "-o", folder, path], capture_output=True, text=True)
    check(answer.returncode == 0 and answer.stdout.startswith("1 trace, "), f"snap: {answer.stdout}{answer.stderr}")
    again = subprocess.run([PMANALYZE, "snap", "-o", folder, path], capture_output=True, text=True)
    check(again.returncode == 1 and "already exists" in again.stderr, f"snap into a folder with traces: {again.stderr}")
    return traces(folder)[0]


def live(threads):
    """Whatever the program drops meanwhile: what is read is of one moment."""
    running = Running(f"live{threads}", threads)
    exact = 0
    for i in range(8):
        running.wait_for(running.count() + SLOTS)
        before = running.count()
        path = traces(running.folder)[0]
        if i % 2 == 1:
            path = snap(path, f"{running.folder}.snap{i}")
        trace = dump(path, "--statistics")
        after = running.count()
        n = counts(trace, "cudaStreamWaitEvent")
        exact += trace["ring"]["exact"]
        if trace["ring"]["exact"]:
            check(before <= n <= after + threads, f"live, {threads} threads: {n} calls, expected {before} to {after}")
        check(trace["refused_records"] == 0, f"live: {trace['refused_records']} records without description")
        check(all(r["least_ns"] <= r["median_ns"] <= r["greatest_ns"] < 600e9 for r in trace["statistics"] if "median_ns" in r),
              "live: a duration that cannot be")
    running.kill()
    check(exact > 0, "live: never read in peace")


def first_dropped(times):
    """Read when the first chunk is dropped: the file grows then, by the statistics."""
    for i in range(times):
        running = Running("first", 1)
        running.wait_for(64000 + 1400 * i // times)
        before = running.count()
        trace = dump(traces(running.folder)[0], "--statistics")
        after = running.count()
        running.kill()
        n = counts(trace, "cudaStreamWaitEvent")
        check(not trace["ring"]["exact"] or before <= n <= after + 1, f"first dropped: {n} calls, expected {before} to {after}")


def killed(threads, times):
    for i in range(times):
        running = Running(f"killed{threads}", threads)
        running.wait_for(2 * SLOTS + 1237 * i)
        running.kill()
        n, expected = counts(dump(traces(running.folder)[0], "--statistics"), "cudaStreamWaitEvent"), running.count()
        # a call may be done and not counted, or counted and not recorded
        check(abs(n - expected) <= threads + 1, f"killed, {threads} threads: {n} calls, expected {expected}")


# ---- a trainer ----


def train(name, iterations, **more):
    subprocess.run([*WITH, TRAINER, "--synthetic", "--batch", "8", "--iterations", str(iterations), "--print", "0"],
                   # the addresses of all calls: where samples end is not the same in each run
                   env=environment(name, SOFTGPU_PROFILE="a100", PMHOOK_FLOW="all", **more), check=True,
                   stdout=subprocess.DEVNULL)
    return traces(name)[0]


def names_of(trace):
    """Operations by function and place among those of the function: a kernel that CUPTI's thread is the first to name takes a number
    when its times come, so that the numbers of later ones are not those of another run."""
    names = {}
    for function, op in sorted({(r["function"], r["op"]) for r in trace["statistics"]}):
        names[op] = function, sum(name[0] == function for name in names.values())
    return names


def compare_statistics(device, full, ring, full_records):
    durations = {}
    names = names_of(full), names_of(ring)
    for kind, _, duration_ns, op in full_records:
        if kind == "device":
            durations.setdefault(names[0][op], []).append(duration_ns)
    keys = [{(n[r["op"]], r["kind"]): r for r in t["statistics"]} for t, n in zip((full, ring), names)]
    check(keys[0].keys() == keys[1].keys(), f"{device}: other operations: {keys[0].keys() ^ keys[1].keys()}")
    for key in keys[0].keys() & keys[1].keys():
        a, b = keys[0][key], keys[1][key]
        check(a["count"] == b["count"], f"{device}: {key}: {b['count']} times, expected {a['count']}")
        if key[1] == "call" or full["device_times"] != "cupti":
            continue  # the times of events are the host's as well
        for value in "total_ns", "least_ns", "greatest_ns":
            # the model's times are rounded to a nanosecond, and then depend on when the work began
            check(abs(a[value] - b[value]) <= 1 + 1e-6 * a[value], f"{device}: {key}: {value} {b[value]}, expected {a[value]}")
        exact = sorted(durations[key[0]])
        for value, part in ("median_ns", 0.5), ("p99_ns", 0.99):
            expected = exact[min(len(exact) - 1, max(0, -int(-part * len(exact) // 1) - 1))]
            check(abs(b[value] - expected) <= 0.01 * expected, f"{device}: {key}: {value} {b[value]}, expected {expected}")


def compare_last(device, full, full_records, ring, path):
    """Calls after the last that was dropped are the last of the full trace."""
    names = names_of(full), names_of(ring)
    dropped_to_ns = ring["ring"]["dropped_to_ns"]
    kept = [names[1][op] for kind, start_ns, _, op in records(path) if kind == "call" and start_ns >= dropped_to_ns]
    all_of_them = [names[0][op] for kind, _, _, op in full_records if kind == "call"]
    # CUPTI's records come in batches, at the latest at the end: those of old calls do not take the place of young ones
    check(len(kept) > 5000, f"{device}: only {len(kept)} calls at the end")
    check(kept == all_of_them[len(all_of_them) - len(kept):], f"{device}: the last calls differ")


def trainer(device):
    path = train(f"full_{device}", 4000, PMHOOK_DEVICE=device, PMHOOK_MODE="full")
    full, full_records = dump(path, "--statistics"), records(path)
    path = train(f"ring_{device}", 4000, PMHOOK_DEVICE=device, PMHOOK_MODE="ring")
    ring = dump(path, "--statistics")
    compare_statistics(device, full, ring, full_records)
    compare_last(device, full, full_records, ring, path)
    longer = train(f"longer_{device}", 7000, PMHOOK_DEVICE=device, PMHOOK_MODE="ring")
    check(os.path.getsize(path) == os.path.getsize(longer), f"{device}: {os.path.getsize(longer)} bytes, not {os.path.getsize(path)}")
    report(full["device_times"], path, device)
    if device == "events":  # those of CUPTI come at the end, more than the ring holds
        iterations(os.path.dirname(longer), 7000)


def iterations(folder, expected):
    """Those that were dropped are counted by their calls."""
    text = subprocess.run([PMANALYZE, "metrics", folder], capture_output=True, text=True, check=True).stdout
    found = [float(line.split()[-1]) for line in text.splitlines() if line.startswith("pmhook_iterations{")]
    check(len(found) == 1 and abs(found[0] - expected) <= 2, f"{found} iterations, expected {expected}")


def report(source, path, device):
    """Iterations that lack device times are not shown."""
    answer = subprocess.run([PMANALYZE, "report", "--json", os.path.dirname(path)], capture_output=True, text=True)
    warnings = json.loads(answer.stdout)["warnings"]
    check(any("of constant size" in w for w in warnings), f"{device}: the report does not say what it sees: {warnings}")
    if source != "cupti":
        return
    whole = subprocess.run([PMANALYZE, "report", "--json", f"full_{device}"], capture_output=True, text=True)
    phases = [{p["phase"]: p["busy_ns"] for p in json.loads(a.stdout)["phases"] if p["busy_ns"]} for a in (answer, whole)]
    for phase, busy_ns in phases[1].items():
        check(abs(phases[0][phase] - busy_ns) <= 0.01 * busy_ns + 50,
              f"{device}: {phase} {phases[0][phase]} ns, expected {busy_ns}")


if sys.argv[4:] == ["trainer"]:
    trainer("cupti")
    trainer("events")
else:
    sizes()
    whole(1, 300000)
    whole(4, 60000)
    forked("ring")
    forked("full")
    live(1)
    live(3)
    first_dropped(int(os.environ.get("FIRST", 12)))
    killed(1, 6)
    killed(2, 3)
sys.exit(bad)
