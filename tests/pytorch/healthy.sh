#!/bin/sh
# Trainings under DistributedDataParallel (healthy_train.py) that wait for long and come to their end, under pmrun --hang-after --hang-end:
# none is ended, and none is said to hang for certain. KINDS: those to try (default: all); PATIENCE: seconds (default: 2). PM_TORCH as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PATH="$BUILD/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 SOFTGPU_NCCL_FAULTS=wait
program=$SOURCE/tests/pytorch/healthy_train.py
patience=${PATIENCE:-2}
bad=0
for kind in ${KINDS:-$("$PYTHON" "$program" list)}; do
	status=0
	pmrun -q -n 2 --softgpu=a100 --hang-after "$patience" --hang-end -o "run.$kind" "$PYTHON" "$program" "$kind" $((4 * patience)) \
		>"$kind.out" 2>"$kind.said" || status=$?
	said=$(sed -n 's/^pmrun: Basis (\([a-z]*\)).*/\1/p' "$kind.said" | sort | uniq -c | tr -s '\n ' ' ')
	echo "$kind: status $status, said:${said:- nothing}"
	if [ $status != 0 ] || [ "$(grep -c 'has finished' "$kind.out")" != 2 ] || grep -q 'Basis (certain)' "$kind.said"; then
		echo "not ok: $kind"
		tail -n 30 "$kind.said"
		bad=1
	fi
	rm -rf "run.$kind"
done
exit $bad
