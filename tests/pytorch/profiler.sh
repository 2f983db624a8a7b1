#!/bin/sh
# torch.profiler in one run and the hook in another see the same kernels with the same times. (In one process only one of them gets
# CUPTI's records: there the report says that the hook's are pairs of events.) PM_TORCH as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
for model in resnet18 gpt; do
	run="$PYTHON $SOURCE/tests/pytorch/train.py $model --steps 6"
	# shellcheck disable=SC2086
	PMHOOK_MODE=off "$BUILD/bin/pmrun" -q --softgpu=a100 -o $model.off -- $run --profile $model.json >$model.out 2>&1 &&
		"$BUILD/bin/pmrun" -q --softgpu=a100 -o $model -- $run >$model.out 2>&1 ||
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
