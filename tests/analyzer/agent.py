#!/usr/bin/env python3
"""agent.py PMANALYZE RANKS: pmanalyze agent against pages of figures that are written here, field by field, with known answers:
sums, medians, the slowest rank, states, attempts, a node's file and its merge, HTTP, alerts, the series' end; and RANKS ranks of a
job on 8-GPU nodes in 2 s of two processors and 500 MB."""
import ctypes
import json
import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

pmanalyze, many = os.path.realpath(sys.argv[1]), int(sys.argv[2])
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
HOST = socket.gethostname()
LINE = re.compile(r'(pmhook_[a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\} (-?[0-9.e+-]+)')
bad = 0


def complain(text):
    global bad
    print("not ok:", text)
    bad = 1


def page(folder, rank, world=4, host="node", pid=1, steps=100, step_ms=20, compute_ms=10, calls=6400, comms=200, age=0.0, ended=False,
         start=100.0, name=None, live=True):
    """The first 4 KiB of a trace of a process whose monotonic clock was 1 s when it began, `start` seconds ago."""
    now = time.time()
    begin_real, begin_mono = int((now - start) * 1e9), 10**9
    mono = int(begin_mono + (start - age) * 1e9)
    data = bytearray(4096)
    struct.pack_into("<8sIHHIIIIiiiIQQQQ64s64s", data, 0, b"pmtrace", 0x01020304, 3, 16, 4096, 64, 1, pid, rank, world, -1, 2,
                     begin_mono, begin_mono, begin_real, 3, host.encode(), b"train")
    if live:
        # the last 20 of 32 are what counts; older ones are slower
        times = [0] * 32
        for n in range(max(0, steps - 32), steps):
            times[n % 32] = int((step_ms if n >= steps - 20 else 9 * step_ms) * 1e6)
        struct.pack_into("<12Q32Q", data, 2048, 0x316576696c6d7000, mono, calls, comms, mono if ended else 0,
                         int(steps * compute_ms * 1e6), 2 * 10**9, 10**9, 2 * steps, steps, steps, mono, *times)
    path = f"{folder}/{name or f'train.{rank}'}.pmtrace"
    with open(path, "wb") as file:
        file.write(data)
    return path


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    return folder


def read(text):
    """Samples by name and labels; of one family in one place, with its HELP and TYPE."""
    samples, family, types = {}, None, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            if family in types:
                complain(f"{family} comes twice")
        elif line.startswith("# TYPE "):
            types[family] = line.split()[3]
            if line.split()[2] != family or (types[family] == "counter") != family.endswith("_total"):
                complain(line)
        else:
            match = LINE.fullmatch(line)
            if not match or match[1] != family:
                complain(f"{family}: {line}")
                continue
            labels = tuple(sorted(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', match[2])))
            if (match[1], labels) in samples:
                complain(f"twice: {line}")
            samples[match[1], labels] = float(match[3])
    return samples


def agent(*arguments, status=0):
    done = subprocess.run([pmanalyze, "agent", *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode != status:
        complain(f"{arguments}: status {done.returncode}: {done.stderr}")
    return done


def once(*arguments):
    return read(agent("--once", *arguments).stdout)


def expect(samples, name, value, **labels):
    found = [v for (n, have), v in samples.items() if n == "pmhook_" + name and set(labels.items()) <= set(have)]
    if value is None and found or value is not None and (len(found) != 1 or abs(found[0] - value) > 1e-6 * abs(value)):
        complain(f"{name} {labels}: {found}, expected {value}")


# A service that starts before the first job: with --stay a run that is not there yet is waited for.
agent("--once", "run", status=1)
if "no rank so far" not in agent("--once", "--stay", "run").stderr:
    complain("a run that is not there yet")

# Four ranks on two hosts; rank 2's kernels take 16 ms, those of the others 10; rank 3 has fewer steps.
fresh("run")
for rank in range(4):
    page("run", rank, host=f"node{rank // 2}", compute_ms=16 if rank == 2 else 10, steps=90 if rank == 3 else 100)
seen = once("--label", "cluster=a\"b", "--label", "job=gpt", "run")
for key in (name for name, labels in seen if not name.startswith("pmhook_agent")):
    expect({k: v for k, v in seen.items() if k[0] == key and ("job", "gpt") not in k[1]}, key[7:], None)
expect(seen, "ranks", 4, state="running", cluster='a\\"b')
expect(seen, "ranks", 0, state="gone")
expect(seen, "step_seconds", 0.020)
expect(seen, "step_compute_seconds", 0.0115)
expect(seen, "job_compute_imbalance", 16 / 11.5)
expect(seen, "straggler", 16 / 11.5, rank="2", host="node1")
expect(seen, "steps_total", 100, host="node0")
expect(seen, "steps_total", 90, host="node1")
expect(seen, "calls_total", 12800, host="node1")
expect(seen, "device_seconds_total", 2.0, host="node0", **{"class": "kernel"})
expect(seen, "device_seconds_total", 4.0, host="node0", **{"class": "communication"})
expect(seen, "lost_records_total", 6, host="node0")
expect(seen, "hang", 0)
expect(seen, "rank_steps_total", None)
expect(once("--ranks", "run"), "rank_steps_total", 90, rank="3", host="node1")
expect(once("--straggler", "1.5", "run"), "straggler", None)

promtool = os.environ.get("PROMTOOL") or shutil.which("promtool")
if promtool:
    checked = subprocess.run([promtool, "check", "metrics"], input=agent("--once", "--ranks", "run").stdout, capture_output=True, text=True)
    if checked.returncode or checked.stderr:
        complain(f"promtool: {checked.stdout}{checked.stderr}")

# A rank without a trace, one that is gone (of this host, and its process ended), one that was started again, an old trace.
fresh("mixed")
dead = subprocess.Popen(["true"])
dead.wait()
page("mixed", 0)
page("mixed", 1, host=HOST, pid=dead.pid)
page("mixed", 2, steps=7, start=900, age=500)
page("mixed", 2, steps=50, name="train.2.2")
seen = once("mixed")
expect(seen, "ranks", 2, state="running", attempt="2")
expect(seen, "ranks", 1, state="gone")
expect(seen, "ranks", 1, state="absent")
expect(once("--ranks", "mixed"), "rank_steps_total", 50, rank="2")
page("mixed", 3, live=False)
seen = once("--ranks", "mixed")
expect(seen, "rank_steps_total", None, rank="3")
expect(seen, "steps_total", None, host="node")
expect(seen, "job_compute_imbalance", None)

# Nodes' files, merged, are what one agent sees of all; one that is no such file is said.
for node in 0, 1:
    fresh(f"node{node}")
    for rank in (2 * node, 2 * node + 1):
        shutil.copy(f"run/train.{rank}.pmtrace", f"node{node}")
fresh("nodes")
for node in 0, 1:
    agent("--once", "--node", f"nodes/{node}.pmnode", f"node{node}")
whole = {k: v for k, v in once("--label", "job=gpt", "--ranks", "run").items() if "agent" not in k[0] and "still" not in k[0]}
merged = {k: v for k, v in once("--label", "job=gpt", "--ranks", "--merge", "nodes").items() if "agent" not in k[0] and "still" not in k[0]}
if whole != merged:
    complain(f"merged: {set(whole.items()) ^ set(merged.items())}")
with open("nodes/x.pmnode", "w", encoding="utf-8") as file:
    file.write("{}")
if "1 of the nodes' files could not be read" not in agent("--once", "--merge", "nodes").stderr:
    complain("a bad file of a node is not said")

# Served over HTTP, while a straggler lasts for three looks; then the job ends, and its series and the agent with it.
with open("alert.sh", "w", encoding="utf-8") as file:
    file.write("cat >>alerts\n")
served = subprocess.Popen([pmanalyze, "agent", "--listen", "127.0.0.1:0", "--every", "1", "-o", "run.prom", "--alert-command", "sh alert.sh",
                           "run"], stderr=subprocess.PIPE, text=True)
port = int(re.search(r"http port (\d+)", served.stderr.readline())[1])


def get(path="metrics"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=20) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


kind, text = get()
if not kind.startswith("text/plain; version=0.0.4"):
    complain(kind)
expect(read(text), "ranks", 4, state="running")
try:
    get("other")
    complain("any path is answered")
except urllib.error.HTTPError as error:
    if error.code != 404:
        complain(f"status {error.code}")
for _ in range(100):
    if os.path.exists("alerts"):
        break
    for rank in range(4):
        page("run", rank, host=f"node{rank // 2}", compute_ms=16 if rank == 2 else 10)
    time.sleep(0.2)
alerts = [json.loads(line) for line in open("alerts", encoding="utf-8")] if os.path.exists("alerts") else []
if len(alerts) != 1 or alerts[0]["alert"] != "straggler" or "rank 2 on node1" not in alerts[0]["text"] or alerts[0]["job"] != "run":
    complain(f"alerts: {alerts}")
if not os.path.exists("run.prom"):
    complain("no file beside the page")
for rank in range(4):
    page("run", rank, ended=True)
if served.wait(timeout=30) != 0 or os.path.exists("run.prom"):
    complain("the end of the job")
expect(once("run"), "ranks", None)

# Nothing moves, and why is not found, as there are no calls: whole traces are not read at each look.
fresh("still")
for rank in range(4):
    page("still", rank, age=100)
libc = ctypes.CDLL(None)
opens = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(opens, b"still/train.0.pmtrace", 0x30)  # IN_OPEN and IN_CLOSE_NOWRITE: equal events in a row would be one


def opened():
    data = os.read(opens, 65536)
    return sum(struct.unpack_from("I", data, at + 4)[0] == 0x20 for at in range(0, len(data), 16))


def looks():
    text = open("still.prom", encoding="utf-8").read() if os.path.exists("still.prom") else ""
    return max((float(value) for value in re.findall(r"^pmhook_agent_looks_total\S* (\S+)$", text, re.M)), default=0)


def wait_for_looks(count):
    for _ in range(400):
        time.sleep(0.05)
        if looks() >= count:
            return
    complain(f"no {count} looks")


watching = subprocess.Popen([pmanalyze, "agent", "--every", "1", "--after", "1", "-o", "still.prom", "still"], stderr=subprocess.DEVNULL)
wait_for_looks(1)
if opened() < 2:
    complain("whole traces are not read when nothing moves")
wait_for_looks(4)
times = opened()
if times > looks():  # since the first one, and another may have begun
    complain(f"a trace was opened {times} times for {looks() - 1} looks at its page")
watching.terminate()
watching.wait(timeout=20)

# Careless hands.
for wrong, status in ((["run"], 2), (["--once", "none"], 1), (["--once", "--label", "x", "run"], 2), (["--listen", "here", "run"], 2),
                      (["--straggler", "0.5", "--once", "run"], 2), (["--once"], 2)):
    agent(*wrong, status=status)

if "no rank so far: expected traces" not in agent("--once", "alert.sh").stderr:
    complain("a file that is no trace is not said")

# Many ranks.
fresh("many")
for rank in range(many):
    page("many", rank, world=many, host=f"node{rank // 8}", compute_ms=15 if rank == many * 2 // 3 else 10)
before = resource.getrusage(resource.RUSAGE_CHILDREN)
start = time.monotonic()
done = agent("--once", "many")
took = time.monotonic() - start
after = resource.getrusage(resource.RUSAGE_CHILDREN)
processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
seen = read(done.stdout)
expect(seen, "ranks", many, state="running")
expect(seen, "straggler", 15 / (10 + 5 / many), rank=str(many * 2 // 3))
print(f"{many} ranks: {took:.2f} s, {processor:.2f} s of a processor, {after.ru_maxrss / 1024:.0f} MB at most, "
      f"{len(done.stdout) / 1e6:.1f} MB of text")
if processor > 2 or after.ru_maxrss > 500 * 1024:
    complain("too slow, or too large")
sys.exit(bad)
