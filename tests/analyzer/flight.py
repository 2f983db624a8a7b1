#!/usr/bin/env python3
"""pmanalyze hang of dumps of PyTorch's Flight Recorder: who is waited for, by dumps that are written here, as pickles of each
protocol and as JSON.

usage: flight.py PMANALYZE HANG_RANKS
"""
import json
import os
import pickle
import subprocess
import sys
import tempfile

from checking import check, verdict

program, hang_ranks = map(os.path.abspath, sys.argv[1:3])


def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode in (0, 1, 2, 3, 4), f"{arguments}: exit status {done.returncode}")
    return " ".join((done.stdout + done.stderr).split()), done.returncode


def entry(sequence, name="nccl:all_reduce", state="completed", sizes=((4, 3),), group=("0", "default_pg"), line=10):
    return {"record_id": sequence, "pg_id": 0, "process_group": tuple(group), "collective_seq_id": sequence, "p2p_seq_id": 0, "op_id": sequence,
            "profiling_name": name, "time_created_ns": 1700000000000000000 + sequence, "input_sizes": [list(size) for size in sizes],
            "input_dtypes": ["Float"], "output_sizes": [[4, 3]], "output_dtypes": ["Float"], "state": state, "retired": state == "completed",
            "is_p2p": False, "timeout_ms": 600000, "duration_ms": 0.25,
            "frames": [{"name": "all_reduce", "filename": "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", "line": 99},
                       {"name": "step", "filename": "train.py", "line": line}]}


def dump(entries, ranks):
    return {"version": "2.10", "comm_lib_version": "2.26", "entries": entries, "nccl_comm_state": None,
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(ranks))}}, "pg_status": {"0": {"last": -1}}}


def write(folder, rank, content, protocol):
    os.makedirs(folder, exist_ok=True)
    if protocol == "json":
        with open(f"{folder}/nccl_trace_rank_{rank}.json", "w", encoding="utf-8") as file:
            json.dump(content, file)
    else:
        with open(f"{folder}/nccl_trace_rank_{rank}", "wb") as file:
            file.write(pickle.dumps(content, protocol))


def job(folder, ranks, protocol, world=None):
    for rank, entries in ranks.items():
        write(folder, rank, dump(entries, range(world or len(ranks))), protocol)
    return run("hang", folder)


def check_all(protocol):
    done = [entry(k) for k in range(1, 6)]
    waits = done + [entry(6, state="started", line=31)]
    where = f"{protocol}/"
    text, status = job(where + "even", {rank: done for rank in range(4)}, protocol)
    check("no rank is behind" in text and status == 0, f"{protocol}: even: {text}")
    text, _ = job(where + "behind", {0: waits, 1: waits, 2: done, 3: waits}, protocol)
    check("ranks 0, 1, 3 wait in nccl:all_reduce 6 ([[4, 3]] of [Float], train.py:31 in step) for rank 2: rank 2 has last entered" in text,
          f"{protocol}: behind: {text}")
    check("Certain" in text, f"{protocol}: behind: no strength: {text}")
    check(run("hang", "--fail-if-hung", where + "behind")[1] == 3, f"{protocol}: no exit status of a hang")
    check(run("hang", "--fail-if-hung", where + "even")[1] == 0, f"{protocol}: an exit status without a hang")
    text, _ = job(where + "gone", {0: waits, 1: waits, 2: waits}, protocol, world=4)
    check("rank 3 has left no dump" in text and "Likely" in text, f"{protocol}: gone: {text}")
    text, _ = job(where + "stuck", {rank: waits for rank in range(3)}, protocol)
    check("all 3 ranks are in nccl:all_reduce 6" in text and "Open" in text, f"{protocol}: stuck: {text}")
    other = done + [entry(6, "nccl:broadcast", "started", line=52)]
    text, _ = job(where + "other", {0: waits, 1: other}, protocol)
    check("rank 0 has entered nccl:all_reduce 6" in text and "rank 1 nccl:broadcast 6" in text, f"{protocol}: other: {text}")
    sizes = done + [entry(6, state="started", sizes=((4, 4),))]
    text, _ = job(where + "sizes", {0: waits, 1: sizes}, protocol)
    check("Different collectives" in text and "[[4, 4]]" in text, f"{protocol}: sizes: {text}")
    # An uneven all_to_all is none.
    uneven = [entry(1, "nccl:all_to_all", sizes=((3,),))], [entry(1, "nccl:all_to_all", sizes=((5,),))]
    text, _ = job(where + "uneven", dict(enumerate(uneven)), protocol)
    check("no rank is behind" in text, f"{protocol}: uneven: {text}")
    found = json.loads(subprocess.run([program, "hang", "--json", where + "behind"], capture_output=True, text=True, check=False).stdout)
    check(found["found"] and len(found["ranks"]) == 4, f"{protocol}: JSON: {found}")


def check_hostile():
    whole = pickle.dumps(dump([entry(k) for k in range(1, 4)], range(2)), 2)
    for k in list(range(3, len(whole), 7)):
        for data in (whole[:k], whole[:k] + bytes([whole[k] ^ 0x55]) + whole[k + 1:]):
            with open("odd", "wb") as file:
                file.write(data)
            run("hang", "odd")
    # One that would run something, and one of lists in lists.
    for name, data in (("calls", b"\x80\x02cos\nsystem\nX\x10\x00\x00\x00touch was_called\x85R." + b"pg_config"),
                       ("deep", b"\x80\x02" + b"]" * 100000 + b"a" * 99999 + b"." + b"pg_config"),
                       ("memory", b"\x80\x02]r\xff\xff\xff\x7f." + b"pg_config")):
        with open(name, "wb") as file:
            file.write(data)
        text, status = run("hang", name)
        check(status == 1 and name + ": " in text, f"{name}: {status}: {text[:300]}")
    check(not os.path.exists("was_called"), "a pickle was run")
    with open("odd.json", "w", encoding="utf-8") as file:
        file.write('{"pg_config": 5, "entries": {"a": 1}}')
    with open("trace.json", "w", encoding="utf-8") as file:
        file.write('{"distributedInfo": {"rank": 0, "pg_config": [{"entries": 1}]}, "traceEvents": []}')
    check("Flight Recorder" not in run("report", "trace.json")[0], "a trace that lists its groups is taken for a dump")
    text, status = run("hang", "odd.json")
    check(status == 1 and "expected a dictionary with a list" in text, f"JSON of another shape: {text}")
    text, status = run("report", "odd")
    check(status == 1, f"report of a dump: {text}")


def check_beside():
    """Dumps beside traces, of which rank 5 has not entered the last collective."""
    os.mkdir("traces")
    subprocess.run([hang_ranks, "traces", "8", "20", "absent", str(os.getpid())], check=True)
    done = [entry(k) for k in range(1, 6)]
    for rank in range(8):
        write("dumps", rank, dump(done + ([] if rank == 5 else [entry(6, state="started", line=31)]), range(8)), 4)
    for paths in (("traces", "dumps"), ("dumps", "traces")):
        text, _ = run("hang", "--after", "0", *paths)
        check("Rank 5 is what the others wait for" in text and "8 dumps of PyTorch's Flight Recorder: ranks wait" in text and
              "train.py:31" in text, f"beside traces: {text}")
        done_json = subprocess.run([program, "hang", "--json", "--after", "0", *paths], capture_output=True, text=True, check=True)
        answer = json.loads(done_json.stdout)
        check([culprit["rank"] for culprit in answer["culprits"]] == ["5"] and answer["flight_recorder"]["found"] and
              len(answer["flight_recorder"]["ranks"]) == 8, f"beside traces: {answer.get('flight_recorder')}")
    answer = json.loads(subprocess.run([program, "hang", "--json", "traces"], capture_output=True, text=True, check=True).stdout)
    check("flight_recorder" not in answer, "of traces alone something is said of dumps")


def main():
    with tempfile.TemporaryDirectory(prefix="pm_flight.") as folder:
        os.chdir(folder)
        for protocol in (2, 4, 5, "json"):
            check_all(protocol)
        check_hostile()
        check_beside()
        os.chdir("/")
    sys.exit(verdict("flight"))


main()
