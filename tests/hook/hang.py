#!/usr/bin/env python3
"""Jobs that come to a stop for a reason that is known, and what pmanalyze hang says of them.

    hang.py [--ranks 2,4] [--seeds N] [--faults a,b,...] [--later STEPS] [--patience SECONDS]      (BUILD names the build folder, else build/)

Starts the ranks of hang_host under the hook, lets one do something wrong in a step that the seed decides, waits until the report
says more than that there is no hang, and compares its class and its ranks. "ahead" is a job whose other ranks were ended by a launcher,
a second after one was killed; the report comes after that, and may say that it does not know if it names the rank in other runs. Faults without a class are healthy jobs, in
which it must never speak of one: a rank is slow, writes a checkpoint or compiles, begins later than the others, or the job is one that was started
again after a rank was killed. Only what cannot go on by itself may be called final. A rank that gets no processor for a second stands still too: what is wrong is tried once more, with ten times
the patience, and counts if it is wrong again. Prints a line for each wrong answer, then a table: right of all, by fault.
"""
import argparse
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

# fault: classes that are right
FAULTS = {
    "killed": ["killed"],
    "stopped": ["stopped"],
    "apart": ["stopped"],
    "exit": ["exited"],
    "input": ["outside_calls"],
    "lock": ["outside_calls"],
    "kernel": ["device"],
    "more": ["different_collective"],
    "size": ["different_collective"],
    "type": ["different_collective"],
    "root": ["different_collective"],
    "swapped": ["different_collective"],
    "barrier": ["different_collective"],
    "skip": ["different_collective"],
    "order": ["order_of_communicators"],
    "receive": ["unmatched_point_to_point"],
    "unsent": ["unmatched_point_to_point"],
    "unreceived": ["unmatched_point_to_point"],
    "ahead": ["outside_calls"],
    "held": ["held"],
    "absent": ["absent"],
    "slow": [],
    "checkpoint": [],
    "compile": [],
    "late": [],
    "restart": [],
    "between": [],
    "shrink": [],
    "index": [],
    "child": [],
    "download": [],
    "evaluation": [],
    "uneven": [],
    "collector": [],
    "warm_up": [],
    # what looks like a hang while it lasts: it may be called one, but neither certain nor final
    "load": ["outside_calls"],
    "import": ["outside_calls"],
    "prompt": ["outside_calls"],
    "quiet": ["outside_calls"],
    "debugger": ["held", "outside_calls"],
    "suspended": ["stopped", "outside_calls"],
    "none": [],
}
HEALTHY = {"load", "import", "prompt", "quiet", "debugger", "suspended"} | {fault for fault, classes in FAULTS.items() if not classes}
# and the pair that is to be named: what the victim has not made, and the distance of the rank that waits for it
# of which it may say that it does not know
MAY_BE_OPEN = {"ahead"}
PAIRS = {"receive": ("receive", -1), "unsent": ("send", 1), "unreceived": ("receive", 1)}
# of a rank that makes no call, what the system says of it; the second where it does not let the call be read
WHERE = {"input": r"It (is in (pause|ppoll)|sleeps in)", "lock": r"It (is in futex|sleeps in the kernel's futex)"}
LEAST_RANKS = {"ahead": 3}
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
HOOK = os.environ.get("HOOK", f"{BUILD}/lib/libpmhook.so")
FINAL = {"killed", "stopped", "apart", "exit"}  # is always; of the others "final" may be said where ranks stand in calls
NEVER_FINAL = {"held", "absent", "input", "lock"}
LIMIT_S = 60


def report(folder, patience_s):
    answer = subprocess.run([f"{BUILD}/bin/pmanalyze", "hang", "--json", "--after", str(patience_s), folder],
                            capture_output=True, text=True)
    return json.loads(answer.stdout) if answer.stdout else None


def start(folder, fault, ranks, victim, step, later, patience_s, **variables):
    """The victim is the last of the processes. Variables are a launcher's."""
    environment = dict(os.environ, WORLD_SIZE=str(ranks), HANG_ID=f"{folder}/id", PMHOOK_OUT=folder,
                       LD_LIBRARY_PATH=f"{BUILD}/softgpu", SOFTGPU_NCCL_FAULTS="wait", SOFTGPU_PROFILE="a100",
                       LD_PRELOAD=f"{os.environ.get('HANG_PRELOAD', '')} {HOOK}", **variables)
    processes = []
    for rank in sorted(range(ranks), key=lambda rank: rank == victim):
        if rank == victim and fault == "absent":
            continue
        if rank == victim and fault == "late":
            time.sleep(2 * patience_s)
        processes.append(subprocess.Popen([f"{BUILD}/bin/hang_host", fault, str(victim), str(later + step), str(later + 60)],
                                          env=dict(environment, RANK=str(rank)), stderr=subprocess.DEVNULL))
    return processes


def end(processes):
    for process in processes:
        process.send_signal(signal.SIGKILL)
        process.wait()


def start_again(folder, ranks, victim, step, later):
    """After an attempt in which a rank was killed, and then the others."""
    processes = start(folder, "killed", ranks, victim, step, later, 0)
    processes[-1].wait(LIMIT_S)
    end(processes)
    os.unlink(f"{folder}/id")
    processes = start(folder, "none", ranks, victim, step, later, 0)
    while len(glob.glob(f"{folder}/*.pmtrace")) < 2 * ranks and processes[0].poll() is None:
        time.sleep(0.01)
    return processes


ELASTIC = {"TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "3", "TORCHELASTIC_RUN_ID": "none"}


def end_attempt(folder, ranks, victim, step, later):
    """Of a job below a launcher, which is this process: a rank is killed, and then the others. Whether that is called final."""
    processes = start(folder, "killed", ranks, victim, step, later, 0, **ELASTIC)
    processes[-1].wait(LIMIT_S)
    final = (report(folder, 1) or {}).get("final", True)
    end(processes)
    os.unlink(f"{folder}/id")
    return final


def start_smaller(folder, ranks, victim, step, later):
    """Started again, by a launcher that counts it as no restart, with one rank less."""
    end_attempt(folder, ranks, victim, step, later)
    fewer = max(ranks - 1, 2)
    processes = start(folder, "none", fewer, 0, step, later, 0, **ELASTIC)
    while len(glob.glob(f"{folder}/*.pmtrace")) < ranks + fewer and processes[0].poll() is None:
        time.sleep(0.01)
    return processes


def is_harmful(fault, answer):
    """Of a healthy job: that it hangs, or, where it looks so for a while, that this is certain."""
    if answer["class"] in ("none", "late", "unknown"):
        return False
    return answer["final"] or answer["strength"] == "certain" or answer["class"] not in FAULTS[fault]


def watch(folder, processes, fault, patience_s):
    """The first report that speaks of a hang, of a healthy job that harms; or the last one."""
    healthy = fault in HEALTHY
    end = time.monotonic() + LIMIT_S
    answer = None
    while time.monotonic() < end:
        answer = report(folder, patience_s) or answer
        if answer and (is_harmful(fault, answer) if healthy else answer["class"] not in ("none", "late", "unknown")):
            return answer
        # only the victim of a fault may have ended
        if sum(process.poll() is None for process in processes) < (1 if healthy or len(processes) == 1 else 2):
            return report(folder, patience_s)
        time.sleep(0.1)
    return answer


def end_as_launcher(folder, processes, patience_s):
    processes[-1].wait(LIMIT_S)
    time.sleep(1)
    end(processes)
    return report(folder, patience_s)


def run(fault, ranks, seed, later, patience_s):
    chance = random.Random(f"{fault} {ranks} {seed}")
    victim, step = chance.randrange(ranks), chance.randrange(21, 50)
    if fault == "barrier":
        step = chance.choice([30, 40, 50])
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        if fault == "between":
            final = end_attempt(folder, ranks, victim, step, later)
            answer = report(folder, patience_s)
            said = f"final {final}; {answer['class']} {answer['strength']}: {answer['headline']}"
            return not final and answer["class"] == "none" and "may be started again" in answer["headline"], said
        if fault == "restart":
            processes = start_again(folder, ranks, victim, step, later)
        elif fault == "shrink":
            processes = start_smaller(folder, ranks, victim, step, later)
        else:
            processes = start(folder, fault, ranks, victim, step, later, patience_s)
        try:
            if fault == "ahead":
                answer = end_as_launcher(folder, processes, patience_s)
            else:
                answer = watch(folder, processes, fault, patience_s)
        finally:
            end(processes)
    if answer is None:
        return False, "no report"
    if fault in MAY_BE_OPEN and answer["class"] == "unknown":
        return None, answer["headline"]
    named = [culprit["rank"] for culprit in answer["culprits"]]
    said = f"{answer['class']} {answer['strength']} {','.join(named)}: {answer['headline']}"
    if answer["final"] if fault in NEVER_FINAL else fault in FINAL and not answer["final"]:
        return False, f"final is {answer['final']}: {said}"
    if fault == "absent":
        return answer["class"] in FAULTS[fault] and f"ank {victim} of {ranks} has not begun" in answer["headline"], said
    if fault in HEALTHY:
        return not is_harmful(fault, answer) and answer["class"] != "unknown", said
    # of two ranks that differ without a majority either may be meant, if the report says so
    right = named == [str(victim)] or (str(victim) in named and ranks == 2 and answer["strength"] == "open")
    if right and fault in PAIRS and answer["strength"] != "open":
        missing, distance = PAIRS[fault]
        pair = {"rank": str(victim), "peer": str((victim + distance) % ranks), "missing": missing}
        right = [{key: named[key] for key in pair} for named in answer["pairs"]] == [pair]
        said += f"; pairs {answer['pairs']}"
    if fault in WHERE and answer["strength"] != "open":
        right = right and re.search(WHERE[fault], answer["culprits"][0]["sentence"])
        said += f"; {answer['culprits'][0]['sentence']}"
    if fault == "skip":
        steps = re.search(r"1 step fewer than .* since (?:one of )?steps? (\d+)(?: to (\d+))?\.", answer["headline"])
        right = right and steps and int(steps[1]) <= later + step <= int(steps[2] or steps[1])
    return bool(right) and answer["class"] in FAULTS[fault], f"victim {victim}, step {step}: {said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="4")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--later", type=int, default=0, help="so many steps, a multiple of 10, before the fault is due")
    parser.add_argument("--patience", type=int, default=1, help="seconds without progress, which pmanalyze hang is given as --after")
    how = parser.parse_args()
    wrong = 0
    print("fault     " + "".join(f"{ranks:>9} ranks" for ranks in how.ranks.split(",")))
    for fault in how.faults.split(","):
        row, named = [], 0
        for ranks in map(int, how.ranks.split(",")):
            if ranks < LEAST_RANKS.get(fault, 2):
                row.append("-")
                continue
            right = unknown = 0
            for seed in range(how.first_seed, how.first_seed + how.seeds):
                good, said = run(fault, ranks, seed, how.later, how.patience)
                if good is False:
                    print(f"again: {fault}, {ranks} ranks, seed {seed}: {said}")
                    good, said = run(fault, ranks, seed, how.later, 10 * how.patience)
                right += good is True
                unknown += good is None
                if good is False:
                    print(f"wrong: {fault}, {ranks} ranks, seed {seed}: {said}")
                    sys.stdout.flush()
            row.append(f"{right} of {how.seeds}")
            named += right
            wrong += how.seeds - right - unknown
        if named == 0 and fault in MAY_BE_OPEN and set(row) != {"-"}:
            print(f"wrong: {fault}: no rank was named in any run")
            wrong += 1
        print(f"{fault:10}" + "".join(f"{cell:>15}" for cell in row))
        sys.stdout.flush()
    return wrong > 0


sys.exit(main())
