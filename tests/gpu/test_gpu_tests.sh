#!/bin/sh
# The GPU tests themselves, where there is no GPU: gpu.sh passes on softgpu and sees what is broken; what cannot run is skipped;
# compare.py is right on made-up numbers and understands what pmanalyze prints.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
gpu=$SOURCE/tests/gpu
. "$SOURCE/tests/complain.sh"
# small work, and no times compared: the stand-ins' threads share a processor or two
export GPU_LIBRARIES="$BUILD/softgpu" GPU_BATCH=96 GPU_FILTERS=6 GPU_FLOOR_US=1000000000

sh "$gpu/gpu.sh" >all.out 2>&1 || complain "gpu.sh on softgpu: $(cat all.out)"
[ "$(grep -c '^ok ' all.out)" = 5 ] || complain "gpu.sh ran other cases: $(cat all.out)"

# broken SETTING CASE TEXT: with the setting the case fails, and says so
broken() {
	status=0
	env "$1" sh "$gpu/gpu.sh" "$2" >broken.out 2>&1 || status=$?
	[ $status = 1 ] || complain "$2 with $1 ends with $status: $(cat broken.out)"
	grep -q "not ok $2: .*$3" broken.out || complain "$2 with $1 does not say '$3': $(cat broken.out)"
}
broken HOOK=nowhere/libpmhook.so graph 'standard error'
broken SOFTGPU_CUPTI=taken nccl_one 'not from cupti'
broken PMHOOK_WINDOW=profiler graph 'calls of cudaGraphLaunch'
broken PMHOOK_MODE=count nccl_one 'left no trace'
broken SOFTGPU_FAIL=cudaGraphLaunch:9 graph 'fails without the hook'
broken SOFTGPU_FAIL=cudaEventElapsedTime:9 layers ''

# skipped EXPECTED COMMAND...
skipped() {
	status=0
	expected=$1
	shift
	"$@" >skipped.out 2>&1 || status=$?
	[ $status = "$expected" ] || complain "$* ends with $status instead of $expected: $(cat skipped.out)"
}
mkdir empty
skipped 77 env GPU_LIBRARIES="$SCRATCH/empty" LD_LIBRARY_PATH= BUILD="$SCRATCH/empty" sh "$gpu/gpu.sh"
skipped 77 env PYTHON=nowhere sh "$gpu/frameworks.sh"
skipped 77 env PYTHON=nowhere sh "$gpu/steps.sh"
skipped 2 sh "$gpu/measure.sh"
skipped 2 sh "$gpu/measure.sh" nowhere

command -v python3 >/dev/null || exit $bad

# frameworks.sh with a trainer of ours in the place of PyTorch's: the path of the data from the program to the verdict
cat >python <<END
#!/bin/sh
case \$1 in
-c) exit 0 ;;
*train_*.py) ;;
*compare.py) shift && exec python3 -B "$gpu/compare.py" --total 10 --phase 1000 --floor-us 1000000 "\$@" ;;
*) exit 1 ;;
esac
exec "$BUILD/bin/train_cnn" --data "$SCRATCH/data" --batch 96 --epochs 2 --iterations 13 --print 1
END
chmod +x python
export PYTHON="$SCRATCH/python" GPU_STEPS=26 LD_LIBRARY_PATH="$GPU_LIBRARIES"
echo '{"steps": 26, "device_ns": 1e9, "phases_ns": {"forward": 9e8, "backward": 0, "optimizer": 0, "other": 0}, "kernels": []}' \
	>resnet18.reference.json
sh "$gpu/frameworks.sh" resnet18 >frameworks.out 2>&1 || complain "frameworks.sh: $(cat frameworks.out)"
grep -q '^ok resnet18$' frameworks.out || complain "resnet18: $(cat frameworks.out)"
[ "$(grep -c '^device time, us' frameworks.out)" = 2 ] || complain "two tables expected: $(cat frameworks.out)"
# it launches no kernel of its own, and so is no JAX
if sh "$gpu/frameworks.sh" jax >frameworks.out 2>&1; then complain "jax: $(cat frameworks.out)"; fi
grep -q '^not ok jax: 0 launches of kernels' frameworks.out || complain "jax: $(cat frameworks.out)"
if PMHOOK_MODE=off sh "$gpu/frameworks.sh" resnet18 >frameworks.out 2>&1; then complain "no trace is no failure"; fi
unset PYTHON GPU_STEPS LD_LIBRARY_PATH

mkdir compare
(cd compare && python3 -B "$gpu/test_compare.py") || complain "compare.py"

# what pmanalyze prints is what compare.py reads: a reference made of the trace itself, without iterations
PMHOOK_DEVICE=cupti "$BUILD/bin/pmrun" -q -o run --softgpu -- "$BUILD/bin/train_cnn" --data data --batch 96 --epochs 2 \
	--iterations 13 --print 0 >run.out
"$BUILD/bin/pmanalyze" report --json run >report.json
"$BUILD/bin/pmanalyze" report --csv --iterations run >iterations.csv
"$BUILD/bin/pmanalyze" dump --records --csv run/*.pmtrace >records.csv
"$BUILD/bin/pmanalyze" dump --ops --csv run/*.pmtrace >ops.csv
awk -F, '$2 == "device" && $12 == "kernel" { ns += $4 } END { printf "{\"steps\": 26, \"device_ns\": %d, \"device_count\": 1,\n", ns }' \
	records.csv >reference.json
echo '"phases_ns": {"forward": 0, "backward": 0, "optimizer": 0, "other": 0}, "kernels": []}' >>reference.json
python3 -B "$gpu/compare.py" --total 10 --made 26 reference.json report.json iterations.csv records.csv ops.csv >compare.out 2>&1 ||
	complain "compare.py does not understand pmanalyze: $(cat compare.out)"
exit $bad
