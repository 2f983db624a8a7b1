#!/usr/bin/env python3
"""
fleet.py PMANALYZE HANG_RANKS: of many ranks' traces so much is read that each has some steps, also where all of a rank is in
one chunk. What is said of the part is held against what the ranks were made to do.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

pmanalyze, hang_ranks = map(os.path.realpath, sys.argv[1:3])
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
CALLS = 41  # of a step
bad = 0


def complain(text):
    global bad
    print("not ok:", text)
    bad = 1


def made(name, ranks, steps):
    os.mkdir(name)
    subprocess.run([hang_ranks, name, str(ranks), str(steps), "absent", str(os.getpid())], check=True)


def report(*arguments):
    return json.loads(subprocess.run([pmanalyze, "report", "--json", *arguments], stdout=subprocess.PIPE, check=True).stdout)


def calls_read(run):
    for text in run["warnings"]:
        found = re.search(r"a long run: (\d+) of (\d+) calls", text)
        if found:
            return int(found[1]), int(found[2])
    return None, None


# a rank of one chunk, asked for a tenth of it
made("few", 8, 200)
read, whole = calls_read(report("few", "--records", "6560"))
if not read or not 0.5 < read / 6560 < 1.5 or abs(whole - 8 * 200 * CALLS) > 8:
    complain(f"few: {read} of {whole} calls are read, asked for 6560")

# without asking, of ranks whose pages count their steps: not 100000 records of each, but a million in all
made("many", 152, 1000)
run = report("many")
read, whole = calls_read(run)
if not read or not 0.5e6 < read < 1.5e6 or abs(whole - 152 * 1000 * CALLS) > 152:
    complain(f"many: {read} of {whole} calls are read")
# what each trace lacks is said of a few, and how many more there are
ends = [text for text in run["warnings"] if "the end is missing" in text]
if len(ends) != 3 or "likewise 149 more traces" not in ends[2]:
    complain(f"many: {len(ends)} sentences on ends: {ends[:3]}")
sys.exit(bad)
