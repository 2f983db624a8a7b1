#!/bin/sh
# Trainings under DistributedDataParallel (hang_train.py) that come to a stop: what pmrun --hang-after prints names the rank, what it is
# at, and the line of the program as far as the trace has it. PM_TORCH as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PATH="$BUILD/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 SOFTGPU_NCCL_FAULTS=wait
program=$SOURCE/tests/pytorch/hang_train.py
bad=0

# line WORDS: where they stand in the program
line() {
	echo "hang_train.py:$(grep -nF "$1" "$program" | head -n 1 | cut -d : -f 1))"
}

# check FAULT VICTIM STEP TEXT...: the report has each of these texts, line breaks aside
check() {
	fault=$1 victim=$2 step=$3 status=0
	shift 3
	pmrun -q -n 3 --softgpu=a100 --hang-after 6 --hang-end --hang-end-after 0.05 -o "$fault" "$PYTHON" "$program" "$fault" "$victim" "$step" >"$fault.out" 2>&1 ||
		status=$?
	if [ $status != 124 ] || ! [ -e "$fault/hang.txt" ]; then
		echo "not ok: $fault: exit status $status, no hang was found"
		tail -n 20 "$fault.out"
		bad=1
		return
	fi
	tr -s '\n ' '  ' <"$fault/hang.txt" >"$fault.report"
	for text; do
		grep -qF "$text" "$fault.report" || {
			echo "not ok: $fault: '$text' is not in:"
			cat "$fault/hang.txt"
			bad=1
		}
	done
}

other="entered another collective than the other ranks."
waited="is what the others wait for: it"
check exception 1 23 "Rank 1 $waited has ended."
check lock 2 24 "Rank 2 $waited is outside of all recorded calls" "Rank 2 has made no call for" "(hang_train.py:"
check more 0 25 "Rank 0 $other" "$(line 'dist.all_reduce(values)')"
check size 1 26 "Rank 1 $other" "Rank 1 entered ncclAllReduce count=1" "$(line '# size')" "The others entered ncclAllReduce count=2"
check barrier 2 30 "Rank 2 $other" "The others entered ncclAllReduce count=1" "$(line 'dist.barrier()')"
exit $bad
