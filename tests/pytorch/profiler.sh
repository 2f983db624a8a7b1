#!/bin/sh
# torch.profiler in one run and the hook in another see the same kernels with the same times. (In one process only one of them gets
# CUPTI's records: there the report says that the hook's are pairs of events.) And the times of torch.profiler's trace are those that the program
# then takes on a slower GPU. PM_TORCH as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
for model in resnet18 gpt; do
	run="$PYTHON $SOURCE/tests/pytorch/train.py $model --steps 6"
	# shellcheck disable=SC2086
	PMHOOK_MODE=off "$BUILD/bin/pmrun" -q --softgpu=a100 -o $model.off -- $run --profile $model.json >$model.out 2>&1 &&
		SOFTGPU_TRUTH=$model.truth "$BUILD/bin/pmrun" -q --softgpu=a100 -o $model -- $run >$model.out 2>&1 ||
		{ echo "not ok: $model: $(tail -n 1 $model.out)" && exit 1; }
	"$BUILD/bin/pmanalyze" dump --records --csv $model/*.pmtrace >$model.csv
	printf '%s: ' $model
	"$PYTHON" "$SOURCE/tests/pytorch/against_profiler.py" $model.json $model.csv
done
# shellcheck disable=SC2086
"$BUILD/bin/pmrun" -q --softgpu=a100 -o both -- $run --profile both.json >both.out 2>&1
"$BUILD/bin/pmanalyze" report both >both.report
grep -q '^Device times: from pairs of events' both.report && grep -q 'another tool uses CUPTI' both.report ||
	{ echo "not ok: both in one process: $(grep '^Device times' both.report)" && exit 1; }

# The GPT on a GPU of a third of the a100's rates, with the a100's times: softgpu says that they were measured, and its log has the a100's time.
awk '/^(memory_gb_s|fp[0-9]+_tflops|tf32_tflops)/ { $2 /= 3 } { print }' "$SOURCE/testapps/softgpu/profiles/a100.profile" >third.profile
"$BUILD/bin/pmanalyze" export --times -o gpt.times gpt.json
PMHOOK_MODE=off SOFTGPU_TRUTH=third.truth SOFTGPU_TIMES=gpt.times "$BUILD/bin/pmrun" -q --softgpu=./third.profile -o third -- \
	"$PYTHON" "$SOURCE/tests/pytorch/train.py" gpt --steps 6 >third.out 2>&1
# busy LOG: ms of all kernels, copies and sets
busy() {
	awk -F, '$1 == "kernel" || $1 == "copy" || $1 == "set" { sum += $11 - $9 } END { printf "%.3f\n", sum / 1e6 }' "$1"
}
a100=$(busy gpt.truth) third=$(busy third.truth)
part=$(sed -n 's/^softgpu: SOFTGPU_TIMES: \([0-9.]*\)% of the modelled GPU time was measured.*/\1/p' third.out)
echo "times: $a100 ms on the a100, $third ms with its times on a GPU of a third of its rates; $part% measured, the rest is set-up"
awk "BEGIN { exit !($third < 1.02 * $a100 && $third > 0.98 * $a100 && $part > 90) }" || exit 1
