"""Iterations that pmanalyze finds against those that a program marked: check_iterations.py PMANALYZE NAME RUN TRUTH.
Prints a row: the case, marked, found, used, exact (the same set of computations), confidence, and whether all are exact and several
updates in an iteration are warned of. It fails unless that is so; --table prints the calibration of rows on standard input."""
import bisect
import csv
import glob
import json
import os
import subprocess
import sys

NOT_FOLLOWED = ()
CORE = ("LAUNCH", "COMPUTE", "FORWARD", "BACKWARD")


def ask(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=False).stdout


def begins_of_work(pmanalyze, run):
    """When computations were called, of the process that has most of them."""
    best = []
    for trace in glob.glob(os.path.join(run, "*.pmtrace")):
        functions = json.loads(ask(pmanalyze, "dump", "--json", trace) or "{}").get("functions", [])
        kinds = {function["name"]: function["kind"] for function in functions}
        begins = sorted(int(row["start_ns"])
                        for row in csv.DictReader(ask(pmanalyze, "dump", "--csv", "--records", trace).splitlines())
                        if row["kind"] == "call" and "c" not in row["flags"] and
                        (kinds.get(row["function"]) in CORE or row["function"] == "cudaGraphLaunch"))
        best = max(best, begins, key=len)
    return best


def compare(pmanalyze, name, run, truth):
    work = begins_of_work(pmanalyze, run)

    def members(begin, end):
        return bisect.bisect_left(work, begin), bisect.bisect_left(work, end)
    with open(truth, encoding="ascii") as lines:
        marked = [members(*map(int, line.split())) for line in lines]
    rows = [row for row in csv.DictReader(ask(pmanalyze, "report", "--csv", "--iterations", run).splitlines())
            if row["phase"] == "iteration"]
    found = {members(int(row["start_ns"]), int(row["end_ns"])) for row in rows}
    used = {members(int(row["start_ns"]), int(row["end_ns"])) for row in rows if row["kind"] == "used"}
    report = json.loads(ask(pmanalyze, "report", "--json", run) or "{}")
    exact, confidence = len(found & set(marked)), report.get("confidence") or 0
    # some phases and layers of iterations with several updates are not followed, which the report has to say, of them alone
    warned = any("updates in an iteration" in warning for warning in report.get("warnings", []))
    right = exact == len(marked) and used <= set(marked) and warned == (name in NOT_FOLLOWED)
    print(f"{name:26}{len(marked):8}{len(rows):7}{len(used):6}{exact:7}{confidence:7.2f}  {report.get('found_by', '-'):8}"
          f"{'right' if right else 'wrong'}")
    return 0 if right else 1


def table(rows):
    tallies = {0.9: [], 0.7: [], 0.5: [], 0: []}
    for row in rows:
        parts = row.split()
        if len(parts) == 8 and parts[7] in ("right", "wrong"):
            tallies[next(least for least in tallies if float(parts[5]) >= least)].append(parts[7] == "right")
    print("confidence   cases  right")
    for least, answers in tallies.items():
        print(f"from {least:.1f}{len(answers):11}{100 * sum(answers) / len(answers) if answers else 0:6.0f}%")


if sys.argv[1] == "--table":
    table(sys.stdin)
    sys.exit()
sys.exit(compare(*sys.argv[1:]))
