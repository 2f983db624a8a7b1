#!/usr/bin/env python3
"""top.py PMANALYZE MAKE_TRACE: pmanalyze top, as text against what pmanalyze report lists, and on a terminal."""
import csv
import io
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from on_terminal import on_terminal  # noqa: E402

pmanalyze, make_trace = map(os.path.realpath, sys.argv[1:3])
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
ENVIRONMENT = dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8")
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
    if value is None or abs(value - expected) > 1e-9 * abs(expected):
        complain(f"{name}: {value}, expected {expected}")


# the figures: medians over what the report lists, and what follows from them
for name in "one", "overlap", "three", "two_gpus", "now_and_then", "killed":
    os.mkdir(name)
    subprocess.run([make_trace, name, name], check=True)
for name in "one", "overlap", "three", "two_gpus", "now_and_then":
    times, phases = {}, {}
    for row in csv.DictReader(io.StringIO(output("report", "--iterations", "--csv", name))):
        if row["kind"] == "used":
            key = int(row["rank"]), int(row["device"])
            times.setdefault(key, {})[int(row["iteration"])] = int(row["start_ns"]), int(row["end_ns"])
            if row["phase"] != "iteration":
                phases.setdefault((key, row["phase"]), []).append(int(row["exclusive_ns"]))
    top = json.loads(output("top", "--json", name))
    rows = {(row["rank"], row["device"]): row for row in top["ranks"]}
    if set(rows) != set(times) or not times:
        complain(f"{name}: ranks {set(rows)}, expected {set(times)}")
        continue
    for key, row in rows.items():
        last = [end - begin for begin, end in times[key].values()][-20:]
        numbers = sorted(times[key])[-20:]
        near(f"{name} {key} iteration", row["iteration_ns"], statistics.median(last))
        near(f"{name} {key} exposed", row["exposed_ns"], statistics.median(phases[key, "communication"][-20:]))
        near(f"{name} {key} input", row["input_ns"], statistics.median(phases[key, "io"][-20:]))
        near(f"{name} {key} per_second", row["per_second"], (numbers[-1] - numbers[0] + 1) * 1e9 /
             (times[key][numbers[-1]][1] - times[key][numbers[0]][0]))
    near(f"{name} iteration", top["iteration_ns"], statistics.mean(row["iteration_ns"] for row in rows.values()))
    computing = [row["compute_ns"] for row in rows.values()]
    near(f"{name} imbalance", top["compute_imbalance"], max(computing) / statistics.mean(computing))
    if not top["ended"]:
        complain(f"{name}: not ended")
three = json.loads(output("top", "--json", "three"))
if three["slowest"] != "rank 2" or three["slowest_layer"] != "conv2":
    complain(f"three: slowest {three['slowest']}, {three['slowest_layer']}")
if json.loads(output("top", "--json", "killed"))["ended"]:
    complain("killed: ended")

# where there is no terminal it is text, sorted as asked for
text = output("top", "--sort", "compute", "three")
if re.findall("rank [0-9] ", text) != ["rank 2 ", "rank 0 ", "rank 1 "] or "\033" in text:
    complain(f"sorted by compute: {text}")
if max(map(len, text.splitlines())) > 80:
    complain("a line longer than 80 columns")
if json.loads(output("top", "--json", "--job", "2", "three", "overlap"))["iteration_ns"] != \
        json.loads(output("top", "--json", "overlap"))["iteration_ns"]:
    complain("--job 2 is another run")
output("top", "three", "overlap", status=1)
output("top", "none", status=1)
output("top", status=2)


def shown(written, columns=80, lines=24):
    """What a terminal of that size shows: the sequences that the view uses, no others."""
    cells = [[" "] * columns for _ in range(lines)]
    line = column = 0
    for part in re.findall(r"\033\[[0-9;?]*[A-Za-z]|[^\033]", written):
        if not part.startswith("\033"):
            if part == "\n" or part == "\r" or column >= columns:
                complain(f"beyond line {line}: {part!r}")
            else:
                cells[line][column] = part
                column += 1
        elif part.endswith("H"):
            line, column = (int(number) - 1 for number in part[2:-1].split(";"))
        elif part in ("\033[K", "\033[J"):
            cells[line][column:] = " " * (columns - column)
            for other in range(line + 1, lines if part.endswith("J") else 0):
                cells[other] = [" "] * columns
        elif not part.endswith("m"):
            complain(f"unknown sequence {part!r}")
    return "\n".join("".join(row).rstrip() for row in cells)


BEGIN, END = "\033[?1049h\033[?25l\033[?7l", "\033[0m\033[?7h\033[?25h\033[?1049l"


def terminal(*answers, run="three", columns=80, lines=24):
    status, written = on_terminal(columns, pmanalyze, "top", run, lines=lines, answers=answers, env=ENVIRONMENT)
    text = written.decode()
    if not text.startswith(BEGIN) or not text.endswith(END):
        complain(f"{answers}: the terminal is not left as it was: {text[:60]!r} ... {text[-60:]!r}")
    return status, text.removeprefix(BEGIN).removesuffix(END)


for columns, lines in (80, 24), (120, 40), (60, 12), (20, 5):
    status, text = terminal((b"q quit", b""), (b"Iteration", b"q"), columns=columns, lines=lines)
    picture = shown(text, columns, lines)
    if status != 0 or not picture.startswith("three: 3 processes") or not picture.split("\n")[-1].startswith("q quit"):
        complain(f"{columns}x{lines}: status {status}\n{picture}")
    if lines >= 24 and [line.rstrip() for line in picture.split("\n") if line.startswith("  rank ")] != [
            line for line in output("top", "three").splitlines() if line.startswith("  rank ")]:
        complain(f"{columns}x{lines}: other ranks than as text\n{picture}")
# sorted by the third column the first row is rank 2, which is opened: its layers; and back
status, text = terminal((b"sort: rank  m mark  Enter rank  arrows select  ended", b"s"), (b"sort: iteration", b"s"), (b"sort: compute", b"\r"),
                        (b"Layers", b""), (b"Left back", b"\033[D"), (b"sort: compute", b"q"))
if status != 0 or "rank 2, process" not in text or "conv1" not in text:
    complain(f"opened: {status}, {text!r}")
# marked, and the mark taken away
status, text = terminal((b"ended", b"m"), (b"Marked  iteration 8, each 596.413 us; 0 later 0.0% longer", b"m"), (b"q quit", b"q"))
if status != 0 or "Marked" in shown(text):
    complain(f"marked: {status}, {text!r}")
# ended from outside
for what, number in (b"\003", signal.SIGINT), (lambda program: program.terminate(), signal.SIGTERM):
    status, text = terminal((b"q quit", what))
    if status != -number:
        complain(f"{number}: status {status}")
# stopped: a group without a parent goes on at once
status, text = terminal((b"Ranks", lambda program: program.send_signal(signal.SIGTSTP)), (BEGIN.encode(), b""), (b"Ranks", b"q"))
if status != 0 or END + BEGIN not in text:
    complain(f"stopped: {status}, {text!r}")
# nothing there yet: it says so, and waits
os.mkdir("empty")
status, text = terminal((b"no *.pmtrace file", b"q"), run="empty")
if status != 0:
    complain(f"empty: {status}")
sys.exit(bad)
