"""
Is an exported trace what the run has? check_export.py PMANALYZE RUN TRACE [changed]: slices of a track do not overlap, every call and device
interval of the dump is in it, flows pair up and lead from a call to work that does not begin earlier, iterations and phases are those
that the report lists. "changed": the analyzer corrects the lengths of device intervals, which are from events.
"""
import collections
import csv
import decimal
import glob
import gzip
import io
import json
import subprocess
import sys

pmanalyze, run, path = sys.argv[1:4]
changed = sys.argv[4:] == ["changed"]
wrong = []


def check(condition, text):
    if not condition:
        wrong.append(text)


def ns(text):
    return int(decimal.Decimal(text) * 1000)


def table(*command):
    # the report of a run without iterations is empty, with status 1
    text = subprocess.run([pmanalyze, *command], check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
    trace = json.loads(file.read().decode("utf-8"), parse_float=str)
events = trace["traceEvents"]
slices = [event for event in events if event["ph"] == "X"]
names = {(event["pid"], event["tid"], event["name"]): event["args"] for event in events if event["ph"] == "M"}
for event in slices:
    event["begin"], event["length"] = ns(event["ts"]), ns(event["dur"])
    check(event["begin"] >= 0 and event["length"] >= 0, f"negative time: {event}")
    check((event["pid"], event["tid"], "thread_name") in names, f"no name of track {event['pid']} {event['tid']}")
    check((event["pid"], 0, "process_name") in names, f"no name of process {event['pid']}")
check(min((event["begin"] for event in slices), default=0) == 0, "the first event is not at 0")

# one row, one slice at a time
tracks = collections.defaultdict(list)
for event in slices:
    tracks[event["pid"], event["tid"]].append(event)
check(len({tid for _, tid in tracks}) == len(tracks), "two tracks have one number")
for number, track in tracks.items():
    track.sort(key=lambda event: (event["begin"], event["begin"] + event["length"]))
    for before, after in zip(track, track[1:]):
        check(before["begin"] + before["length"] <= after["begin"], f"overlap on {number}: {before} {after}")
    check(len({event["cat"] for event in track}) == 1 or {event["cat"] for event in track} == {"iteration", "gap"},
          f"track {number} mixes kinds")

# all calls and intervals, by process; with the same times, up to where each process's and device's clock was moved to
found = collections.Counter((event["pid"], event["cat"]) for event in slices)
ranks = {}
for pid in {pid for pid, _ in tracks}:
    text = names[pid, 0, "process_name"]["name"]
    ranks[int(text.split()[1].rstrip(",")) if text.startswith("rank ") else -1] = pid
for file in sorted(glob.glob(run + "/*.pmtrace")):
    with open(file, "rb") as raw:
        rank = int.from_bytes(raw.read(36)[32:36], "little", signed=True)
    records = table("dump", "--csv", "--records", file)
    for cat, what in (("host", "call"), ("device", "device")):
        # work that no recorded call gave the device is not part of a run
        rows = [row for row in records if row["kind"] == what and (what == "call" or row["correlation"] != "0")]
        check(found[ranks.get(rank, 0), cat] == len(rows), f"rank {rank}: {found[ranks.get(rank, 0), cat]} slices of {len(rows)} {what}")
        lengths = collections.Counter(int(row["duration_ns"]) for row in rows)
        mine = collections.Counter(event["length"] for event in slices if event["pid"] == ranks.get(rank, 0) and event["cat"] == cat)
        check(mine == lengths or changed and cat == "device", f"rank {rank}: {what}s have other lengths: {len(mine - lengths)}")

# flows
starts = {event["id"]: event for event in events if event["ph"] == "s"}
ends = {event["id"]: event for event in events if event["ph"] == "f"}
check(len(starts) == sum(event["ph"] == "s" for event in events), "two flows with one number")
check(len(ends) == sum(event["ph"] == "f" for event in events), "two flows end with one number")
check(starts.keys() == ends.keys(), "flows do not pair up")
check(len(ends) == sum(event["cat"] == "device" and "args" in event for event in slices), "work without flow")
begins = collections.defaultdict(set)
for event in slices:
    begins[event["pid"], event["tid"], event["begin"]].add(event["cat"])
for number, start in starts.items():
    end = ends.get(number, start)
    check(start["pid"] == end["pid"], f"flow {number} leads to another process")
    check(ns(start["ts"]) <= ns(end["ts"]), f"flow {number} leads back: {start} {end}")
    check("host" in begins[start["pid"], start["tid"], ns(start["ts"])], f"flow {number} begins at no call")
    check("device" in begins[end["pid"], end["tid"], ns(end["ts"])], f"flow {number} ends at no work")

# the host's calls are on tracks of their own, named so
for (pid, tid), track in tracks.items():
    named = names[pid, tid, "thread_name"]["name"].startswith("host thread ")
    check(named == all(event["cat"] in ("host", "range") for event in track), f"{names[pid, tid, 'thread_name']}: {track[0]['cat']}")

# iterations and phases: sums as reported, and nothing between the phases of an iteration
reported = collections.Counter()
lengths = collections.Counter()
for row in table("report", "--csv", "--iterations", run):
    rank = ranks.get(int(row["rank"]), 0)
    key = rank, int(row["device"]), int(row["iteration"])
    if row["phase"] == "iteration":
        lengths[key] = int(row["end_ns"]) - int(row["start_ns"])
    else:
        reported[key + (row["phase"],)] = int(float(row["exclusive_ns"]))
keys = dict(zip(
    ("t_io t_h2d t_md t_f t_b t_c t_u t_graph other".split() + ["idle: host", "idle: queue", "idle: sync", "idle: unknown"]),
    "io h2d md forward backward communication update graph other idle_launch idle_queue idle_sync idle_unknown".split()))
summed = collections.Counter()
iterations = {}
for (pid, tid), track in tracks.items():
    text = names[pid, tid, "thread_name"]["name"].split()
    if track[0]["cat"] in ("iteration", "gap"):
        for event in track:
            if event["cat"] == "iteration":
                iterations[pid, int(text[1]), int(event["name"].split()[1])] = event
check({key: event["length"] for key, event in iterations.items()} == dict(lengths), "iterations are not those reported")
for (pid, tid), track in tracks.items():
    if track[0]["cat"] != "phase":
        continue
    device = int(names[pid, tid, "thread_name"]["name"].split()[1])
    mine = sorted((event["begin"], event["begin"] + event["length"], key[2]) for key, event in iterations.items() if key[:2] == (pid, device))
    position = 0
    for event in track:
        while mine[position][1] <= event["begin"]:
            position += 1
        check(mine[position][0] <= event["begin"] and event["begin"] + event["length"] <= mine[position][1],
              f"a phase is over the edge of an iteration: {event}")
        summed[pid, device, mine[position][2], keys[event["name"]]] += event["length"]
for key in reported.keys() | summed.keys():
    check(reported[key] == summed[key], f"{key}: {summed[key]} ns of phases, reported are {reported[key]}")
check(sum(event["cat"] == "phase" for event in slices) > 0 or not iterations, "no phases")

for text in wrong[:20]:
    print(f"{path}: {text}")
print(f"{path}: {len(slices)} slices on {len(tracks)} tracks, {len(starts)} flows, {len(wrong)} wrong")
sys.exit(1 if wrong else 0)
