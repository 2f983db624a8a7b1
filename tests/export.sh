#!/bin/sh
# Observations of real runs: what pmanalyze reads off the descriptors is what train_cnn was told by its options and what follows from
# them; its times are the medians of the report's iterations; pmfit takes the table. Each case is one run.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
if ! command -v python3 >/dev/null; then
	echo "python3 is not there"
	exit 77
fi
bin=$BUILD/bin
: >cases

# run_case RANKS OPTION...: changed= for device times from events
changed=
run_case() {
	name=run$(wc -l <cases) ranks=$1
	shift
	"$bin/pmrun" -q -n "$ranks" -o "$name" --softgpu=rtx2080 -- "$bin/train_cnn" --synthetic --iterations 8 --print 0 "$@" >out 2>&1 || cat out
	"$bin/pmanalyze" export --observations --append -o table.csv "$name"
	"$bin/pmanalyze" report --csv --iterations "$name" >"$name.csv"
	"$bin/pmanalyze" export --perfetto -o trace.json.gz "$name"
	python3 "$SOURCE/tests/analyzer/check_export.py" "$bin/pmanalyze" "$name" trace.json.gz $changed
	echo "$ranks $*" >>cases
	rm -rf "$name"
}

run_case 1 --batch 32
run_case 1 --batch 64 --filters 4 --kernel 3
run_case 1 --batch 96 --filters 8 --dropout 0.25
run_case 1 --batch 64 --filters 12 --padding same
run_case 1 --batch 128 --filters 16 --dataset cifar10
run_case 1 --batch 64 --stride 2 --padding same --pool 2 --activation tanh
run_case 1 --batch 64 --pool 3 --activation sigmoid
run_case 2 --batch 64
run_case 2 --batch 128 --filters 12
run_case 3 --batch 96 --filters 8 --aggregate overlap
run_case 2 --batch 256 --filters 16 --kernel 4 --dataset cifar10
run_case 3 --batch 192 --dropout 0.5
run_case 1 --batch 128 --gpus 2
export PMHOOK_DEVICE=events
changed=changed
run_case 1 --batch 128 --gpus 2 --aggregate fused
run_case 2 --batch 128

python3 - <<-'END'
	import csv, math, statistics, sys
	wrong = 0
	rows = list(csv.DictReader(open("table.csv")))
	cases = [line.split() for line in open("cases")]
	assert len(rows) == len(cases), "a row for each run"
	for number, (row, (ranks, *words)) in enumerate(zip(rows, cases)):
	    how = {"--batch": "64", "--filters": "6", "--kernel": "5", "--stride": "1", "--padding": "valid", "--pool": "2",
	           "--activation": "relu", "--dropout": "0", "--dataset": "mnist", "--gpus": "1", **dict(zip(words[::2], words[1::2]))}
	    gpus = int(ranks) * int(how["--gpus"])
	    filters, kernel, stride, pool = (int(how["--" + key]) for key in ("filters", "kernel", "stride", "pool"))
	    padding = kernel // 2 if how["--padding"] == "same" else 0
	    channels, side = (3, 32) if how["--dataset"] == "cifar10" else (1, 28)
	    second = math.floor(filters * 8 / 3 + 0.5)
	    size = side
	    for _ in range(2):
	        size = ((size + 2 * padding - kernel) // stride + 1 - pool) // pool + 1
	    parameters = (kernel ** 2 * channels + 1) * filters + (kernel ** 2 * filters + 1) * second + \
	        (size * size * second + 1) * 120 + 121 * 84 + 85 * 10
	    expected = {
	        "run": f"run{number}", "gpus": gpus, "batch": int(how["--batch"]), "gpu_batch": int(how["--batch"]) / gpus,
	        "hosts": 1, "stages": 1, "channels": channels, "height": side, "width": side, "inputs": channels * side * side,
	        "kernel": kernel, "filters": filters, "stride": stride, "padding": padding, "pool": pool, "pool_stride": pool,
	        "units": 120, "dropout": float(how["--dropout"]), "parameters": parameters, "layers": 5, "pooling": "max",
	        "activation": how["--activation"], "conv_layers": 2, "pool_layers": 2, "fc_layers": 3, "norm_layers": 0,
	        "dropout_layers": int(float(how["--dropout"]) > 0),
	    }
	    times = {}
	    for line in csv.DictReader(open(f"run{number}.csv")):
	        if line["kind"] == "used":
	            times.setdefault(line["phase"], []).append(float(line["busy_ns"]))
	            if line["phase"] == "communication":
	                times.setdefault("communication_exposed", []).append(float(line["exclusive_ns"]))
	    for phase, values in times.items():
	        expected[phase + "_ms"] = statistics.median(values) / 1e6
	    expected["iterations"] = len(times["iteration"]) / gpus
	    for name, value in expected.items():
	        found = row[name] if isinstance(value, str) else float(row[name] or "nan")
	        if found != value and not (isinstance(value, float) and abs(found - value) < 1e-6):
	            print(f"run{number}: {name} is {row[name]}, expected {value}: {' '.join(words)}")
	            wrong += 1
	    if not float(row["iteration_ms"]) > 0:
	        print(f"run{number}: no time")
	        wrong += 1
	sys.exit(wrong > 0)
	END
"$bin/pmfit" fit --time iteration_ms,ms --intrinsic filters,kernel,inputs --extrinsic gpu_batch --categorical activation table.csv >fit.txt 2>err ||
	{ cat fit.txt err; exit 1; }
grep -q 'activation' fit.txt
