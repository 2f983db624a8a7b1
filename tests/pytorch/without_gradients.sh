#!/bin/sh
# Forward work without gradients within a step is distinguished: of modules that are trained too, and of ones that are not (small/self_answer.py).
# By two versions of PyTorch on two GPUs. PM_TORCH and PM_TORCH_OLDER as in find_torch.sh.
set -eu
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
bad=0
check() { # RULE, OTHER RULE, HOW...
	wanted=$1 other=$2
	shift 2
	rm -rf run
	"$BUILD/bin/pmrun" -q -o run --softgpu=$GPU -- "$PYTHON" "$SOURCE/tests/pytorch/small/self_answer.py" "$@" >out 2>&1 || { cat out && exit 1; }
	"$BUILD/bin/pmanalyze" layers --why run >why
	grep -Eq "^  phase +($wanted) +framework +sure +3 " why || { echo "not ok: $PYTHON $*: not three calls by $wanted: $(grep '^  phase ' why)" && bad=1; }
	! grep -Eq "^  phase +($other) " why || { echo "not ok: $PYTHON $*: calls by $other" && bad=1; }
}
for OLDER in "" 1; do
	. "$SOURCE/tests/pytorch/find_torch.sh"
	# where the model's variable is not found, only its class is known: it may be another model, and nothing is claimed
	check "no_gradients|unused" frozen
	check frozen "no_gradients|unused" teacher
done
exit $bad
