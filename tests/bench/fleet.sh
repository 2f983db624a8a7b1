#!/bin/sh
# A minute with 10000 live ranks (or RANKS), or as many SECONDS: while a program writes the steps of all of them into the pages of figures,
# once a second, pmanalyze top, metrics, agent and hang look again and again. Prints what each look takes; fails if a look takes more than
# 500 MB, says another straggler, steps that were not made, or another rank than the one that the others wait for. Needs python3.
#
#     tests/bench/fleet.sh BUILD [RANKS [SECONDS]]
set -eu
build=$(cd "${1:?usage: fleet.sh BUILD [RANKS [SECONDS]]}" && pwd)
scratch=$(mktemp -d)
writer=
trap 'kill $writer 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"

cat >write.py <<'END'
"""The hook's part: each second a step of each rank. The number of steps begun and ended is in the file `steps`."""
import os, struct, sys, time
folder, ranks, victim = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
LIVE, STEPS, STEP_NS, CALLS = 2048, 32, 410000, 41  # struct pm_live, and what hang_ranks has made
first = {}
for rank in range(ranks):
    with open(f"{folder}/job.{rank}.pmtrace", "rb") as file:
        head = file.read(LIVE + 8 * (12 + STEPS))
    monotonic_ns, real_ns = struct.unpack_from("<QQ", head, 56)
    first[rank] = real_ns - monotonic_ns, list(struct.unpack_from("<12Q", head, LIVE))
done = first[0][1][9]


def tell(begun, ended):
    with open("steps.new", "w") as file:
        print(begun, ended, file=file)
    os.rename("steps.new", "steps")


while True:
    begin = time.monotonic()
    tell(done + 1, done)
    done += 1
    for rank, (offset_ns, live) in first.items():
        now_ns = time.time_ns() - offset_ns
        live[1] = live[11] = now_ns
        live[2] += CALLS
        live[3] += 9
        live[5] += STEP_NS * 3 // 8 if rank == victim else STEP_NS // 4
        live[8] += 2
        live[9] = live[10] = done
        fd = os.open(f"{folder}/job.{rank}.pmtrace", os.O_WRONLY)
        os.pwrite(fd, struct.pack("<12Q", *live), LIVE)
        os.pwrite(fd, struct.pack("<Q", STEP_NS), LIVE + 8 * (12 + (done - 1) % STEPS))
        os.close(fd)
    tell(done, done)
    time.sleep(max(0, begin + 1 - time.monotonic()))
END

cat >look.py <<'END'
import json, os, re, statistics, subprocess, sys, time
pmanalyze, ranks, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
victim = ranks * 2 // 3
looks = {}


def steps():
    return list(map(int, open("steps").read().split()))


def look(*arguments):
    begin = time.monotonic()
    child = subprocess.Popen([pmanalyze, *arguments, "run"], stdout=subprocess.PIPE, text=True)
    text = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        sys.exit(f"{arguments}: status {status}")
    took = time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    looks.setdefault(" ".join(arguments), []).append(took)
    if took[2] > 500:
        sys.exit(f"{arguments}: {took[2]:.0f} MB")
    return text


def among(count, before, after, who):
    if not before[1] <= count <= after[0]:
        sys.exit(f"{who}: {count} steps, made {before[1]} to {after[0]}")


end = time.monotonic() + seconds
while time.monotonic() < end:
    before = steps()
    top = json.loads(look("top", "--json"))
    rows = {row["rank"]: row for row in top["ranks"]}
    if top["source"] != "pages" or len(rows) != ranks:
        sys.exit(f"top: {top['source']}, {len(rows)} ranks")
    among(top["iterations"], before, steps(), "top")
    if not 1.4 < rows[victim]["compute_ns"] / rows[0]["compute_ns"] < 1.6:
        sys.exit(f"top: {rows[victim]}, {rows[0]}")
    before = steps()
    found = re.search(r'^pmhook_iterations\S*{run="run",rank="%d"} (\S+)$' % victim, look("metrics"), re.M)
    among(float(found[1]), before, steps(), "metrics")
    if not re.search('pmhook_straggler{.*rank="%d"' % victim, look("agent", "--once")):
        sys.exit("agent: another straggler")
    named = [culprit["rank"] for culprit in json.loads(look("hang", "--json"))["culprits"]]
    if named != [str(victim)]:
        sys.exit(f"hang: {named}")
print("                 looks      wall, s          processor, s       memory, MB\n"
      "                         median  longest   median  longest      most")
for name, items in looks.items():
    wall, processor, memory = zip(*items)
    print("%-14s %7d %8.2f %8.2f %8.2f %8.2f %9.0f" % (name, len(items), statistics.median(wall), max(wall), statistics.median(processor),
                                                      max(processor), max(memory)))
print(f"steps of each rank meanwhile: {steps()[1] - 20}")
END

ranks=${2:-10000}
echo "processors: $(nproc); $ranks ranks, ${3:-60} s"
mkdir run
"$build/bin/hang_ranks" run "$ranks" 20 absent $$
python3 write.py run "$ranks" $((ranks * 2 / 3)) &
writer=$!
until [ -s steps ]; do sleep 0.1; done
python3 look.py "$build/bin/pmanalyze" "$ranks" "${3:-60}"
