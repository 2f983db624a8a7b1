#!/bin/sh
# The operations of a GPT under autocast whose memory never has an address twice: as many in 16 steps as in 8, and described but once.
# PM_TORCH and PM_TORCH_OLDER as in find_torch.sh.
set -eu
OLDER=1
. "$SOURCE/tests/pytorch/find_torch.sh"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 PYTORCH_NO_CUDA_MEMORY_CACHING=1 SOFTGPU_ADDRESSES=fresh PMHOOK_DEVICE=none
for steps in 8 16; do
	"$BUILD/bin/pmrun" -q --softgpu=$GPU -o run.$steps -- "$PYTHON" "$SOURCE/tests/pytorch/train.py" gpt --amp --steps $steps >out 2>&1 ||
		{ tail -n 5 out && exit 1; }
	"$BUILD/bin/pmanalyze" dump --ops --csv run.$steps/*.pmtrace >$steps.csv
done
python3 - 8.csv 16.csv <<'END'
import collections, csv, re, sys

def operations(path):
    """How often each operation is called, with and without addresses; how many operations have some."""
    rows = list(csv.DictReader(open(path)))
    of = {row["number"]: row["base"] or row["number"] for row in rows}
    # events, files and functions have names of their own in each process
    values = lambda row: re.sub(r"(event|file|func)=\S+", "", row["values"])
    what = {row["number"]: (row["function"], values(row), row["innermost"]) for row in rows}
    calls = collections.Counter()
    for row in rows:
        calls[what[of[row["number"]]]] += int(row["calls"])
    return calls, sum(bool(row["base"]) for row in rows)

few, few_placed = operations(sys.argv[1])
many, many_placed = operations(sys.argv[2])
new = [what for what in many if what not in few]
print("fresh: %d operations in 8 steps, %d in 16 (%d with addresses in samples, %d)" % (len(few), len(many), few_placed, many_placed))
print("busiest: %s" % ", ".join("%s %d" % (what[0], count) for what, count in many.most_common(4)))
if new:
    print("not ok: new in steps 9 to 16: %s" % new[:3])
if few_placed < 100:
    print("not ok: addresses were used again")
sys.exit(bool(new) or few_placed < 100)
END
