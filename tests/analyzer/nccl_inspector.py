#!/usr/bin/env python3
"""pmanalyze comm of NCCL Inspector's logs: sizes, bandwidths and the last to arrive, of collectives whose start on each rank is chosen here.

usage: nccl_inspector.py PMANALYZE
"""
import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile

from checking import check, verdict

program = os.path.abspath(sys.argv[1])
RANKS = 4


def run(*arguments, command="comm"):
    done = subprocess.run([program, command, *arguments], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode in (0, 1, 2), f"{arguments}: exit status {done.returncode}")
    return done.stdout, " ".join(done.stderr.split()), done.returncode


def line(name, rank, sequence, size, took_us, group="0x7f8c496ae9f661", ranks=RANKS):
    whole = size * (ranks if name == "AllGather" else 1)
    return json.dumps({"header": {"id": group, "rank": rank, "n_ranks": ranks, "nnodes": 1},
                       "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "profiler_plugin",
                                    "dump_timestamp_us": 1748030377748202 + sequence, "hostname": "node", "pid": 1639453},
                       "coll_perf": {"coll": name, "coll_sn": sequence, "coll_msg_size_bytes": size, "coll_exec_time_us": took_us,
                                     "coll_algobw_gbs": whole / took_us / 1000, "coll_busbw_gbs": 0}}) + "\n"


def job(folder, skipped=()):
    """Of each collective the ranks start at times of their own, and all end together: 20 all-reduces of 8 MB that move for 400 us, and 10
    all-gathers of 1 MB parts that move for 200 us. Rank 2 is late in three of four."""
    chance, waits, last = random.Random(5), [], []
    logs = {rank: "" for rank in range(RANKS)}
    for sequence in range(30):
        name, size, moves = ("AllReduce", 8 << 20, 400) if sequence < 20 else ("AllGather", 1 << 20, 200)
        starts = [chance.randrange(0, 50) for _ in range(RANKS)]
        late = 2 if sequence % 4 else 0
        starts[late] = 300
        last.append(late)
        waits.append([max(starts) - start for start in starts])
        for rank in range(RANKS):
            logs[rank] += line(name, rank, sequence, size, max(starts) + moves - starts[rank])
    os.makedirs(folder)
    for rank in range(RANKS):
        if rank not in skipped:
            with open(f"{folder}/nccl-inspector-node-pid{rank}.log", "w", encoding="utf-8") as file:
                file.write(logs[rank])
    return waits, last


def near(one, other):
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1e-9)


def check_job():
    waits, last = job("whole")
    out, err, status = run("--json", "--skip", "0", "whole")
    check(status == 0 and not err, f"whole: {status} {err}")
    job_json = json.loads(out)["runs"][0]
    rows = {row["call"]: row for row in job_json["calls"]}
    for name, first, end, size, moves, factor in (("AllReduce", 0, 20, 8 << 20, 400, 1.5), ("AllGather", 20, 30, 4 << 20, 200, 0.75)):
        row, mean = rows[name], sum(sum(each) for each in waits[first:end]) / (end - first) / RANKS
        check(row["count"] == end - first and row["ranks"] == RANKS and row["bytes"] == size, f"{name}: {row}")
        check(near(row["waiting_ns"], 1000 * mean) and near(row["transfer_ns"], 1000 * moves), f"{name}: waits {row['waiting_ns']}, not {1000 * mean}")
        check(near(row["algbw_gbps"], size / moves / 1000) and near(row["busbw_gbps"], factor * size / moves / 1000), f"{name}: {row['busbw_gbps']} GB/s")
        late = last[first:end].count(2)
        check(row["last_rank"] == 2 and row["last_count"] == late, f"{name}: last {row['last_rank']} in {row['last_count']}, not {late}")
    for rank in job_json["ranks"]:
        own = sum(each[rank["rank"]] for each in waits) / len(waits)
        caused = sum(sum(each) for each, late in zip(waits, last) if late == rank["rank"]) / len(waits)
        check(near(rank["waiting_ns"], 1000 * own) and near(rank["wait_caused_ns"], 1000 * caused), f"rank {rank['rank']}: {rank}")
    out, _, _ = run("--skip", "0", *(f"whole/nccl-inspector-node-pid{rank}.log" for rank in range(RANKS)))
    check("no clock that ranks share" in " ".join(out.split()) and "2 75%" in out, f"text: {out}")
    check(len(list(csv.reader(io.StringIO(run("--csv", "whole")[0])))) == 9, "CSV")


def check_parts():
    """With a rank missing nothing is known of waiting; what breaks off is counted."""
    job("part", skipped=(1,))
    calls = json.loads(run("--json", "part")[0])["runs"][0]["calls"]
    check(all(row["waiting_ns"] is None and row["last_rank"] is None for row in calls), f"part: {calls}")
    with open("part/nccl-inspector-node-pid0.log", "a", encoding="utf-8") as file:
        file.write(line("AllReduce", 0, 99, 8, 9)[:70])
    out, err, status = run("part")
    check(status == 0 and "1 line of the logs is no collective, or breaks off" in err, f"broken off: {err}")
    check("a log of NCCL Inspector: pmanalyze comm reads it" in run("whole/nccl-inspector-node-pid0.log", command="report")[1], "report")


def check_hostile():
    good = line("AllReduce", 0, 1, 8, 9)
    odd = [good.replace('"n_ranks": 4', '"n_ranks": 1e18'), good.replace('"rank": 0', '"rank": -1'), good.replace('"rank": 0', '"rank": 4'),
           good.replace('"n_ranks": 4', '"n_ranks": 9000000'), good.replace("9,", "1e999,"), good.replace('"AllReduce"', "[]"),
           good.replace('"coll_sn": 1', '"coll_sn": "x"'), good.replace('"id": "0x7f8c496ae9f661"', '"id": 7')]
    for number, text in enumerate(odd):
        with open("odd.log", "w", encoding="utf-8") as file:
            file.write(text + good + good + line("AllReduce", 3, 1, 8, 9, ranks=70) + "[" * 100000 + "\n")
        out, err, status = run("odd.log")
        check(status == 0 and "AllReduce" in out, f"odd {number}: {status} {err} {out}")
    with open("none.log", "w", encoding="utf-8") as file:
        file.write(good.replace('"coll"', '"other"'))
    check(run("none.log")[2] == 1, "a log without collectives")


def main():
    with tempfile.TemporaryDirectory(prefix="pm_inspector.") as folder:
        os.chdir(folder)
        check_job()
        check_parts()
        check_hostile()
        os.chdir("/")
    return verdict("inspector")


if __name__ == "__main__":
    sys.exit(main())
