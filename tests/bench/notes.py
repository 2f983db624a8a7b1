#!/usr/bin/env python3
"""The sessions of a page that take measured tables or minutes: notes.py BUILD PAGE [FITDATA]. Its commands are run in a scratch folder, with the
tables of FITDATA that they name (without it those that need one are left out); seconds of each are printed, and the lines that the page shows
and the command does not print, numbers aside, in that order. "..." in the page is anything. With OUT=FILE all that was printed is kept there. Status 1 where a line is missing or a command fails."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SYNTH = """time time s
intrinsic filters kernel pool lr stride dropout
categorical padding activation dataset optimizer
extrinsic batch gpus
split split train
"""


def prepare(folder, data):
    """What the pages' sessions call their tables."""
    for name in ("synth.txt", "mxnet.txt"):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(SYNTH)
    if data:
        for name in ("mxnet.csv", "tensorflow.csv"):
            shutil.copy(os.path.join(data, "thesis-synth", name), folder)
        shutil.copy(os.path.join(data, "thesis-synth", "mxnet.csv"), os.path.join(folder, "runs.csv"))
        shutil.copy(os.path.join(data, "pollux", "imagenet", "scalability.csv"), os.path.join(folder, "steps.csv"))


def sessions(page):
    """(command, the lines shown after it); a block without a command is no session."""
    found, on = [], False
    with open(page, encoding="utf-8") as file:
        for line in file.read().replace("\\\n", " ").split("\n"):
            if line.startswith("    $ "):
                on = True
                found.append((line[6:], []))
            elif line and not line.startswith("    "):
                on = False
            elif on and line:
                found[-1][1].append(line[4:])
    return found


def masked(line):
    """Numbers, and the blanks between columns, depend on the run."""
    return re.sub(r"\s+", " ", re.sub(r"-?\d[\d.]*(e[-+]?\d+)?", "N", line)).strip()


def missing(shown, printed):
    lines, at = [masked(line) for line in printed], 0
    for line in shown:
        wanted = masked(line)
        if not wanted or wanted == "..." or set(wanted) <= set("|+-.o NT"):
            continue
        if wanted.endswith("..."):
            place = next((i for i in range(at, len(lines)) if lines[i].startswith(wanted[:-3].strip())), None)
        else:
            place = next((i for i in range(at, len(lines)) if lines[i] == wanted), None)
        if place is None:
            yield line
        else:
            at = place + 1


def main():
    build, page, *rest = sys.argv[1:]
    data = os.path.abspath(rest[0]) if rest else None
    environment = {**os.environ, "PATH": os.path.abspath(os.path.join(build, "bin")) + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    found, bad = sessions(page), 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder, data)
        for command, shown in found:
            begin = time.monotonic()
            result = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            lines = result.stdout.decode().split("\n")
            lost = list(missing(shown, lines))
            print(f"{time.monotonic() - begin:7.1f} s  {command}", flush=True)
            if "OUT" in os.environ:
                with open(os.environ["OUT"], "ab") as file:
                    file.write(f"$ {command}\n".encode() + result.stdout)
            for line in lost:
                print(f"           not printed: {line}")
            if result.returncode:
                print(f"           status {result.returncode}: {lines[-2] if len(lines) > 1 else ''}")
            bad += bool(lost or result.returncode)
    return bad > 0


sys.exit(main())
