#!/bin/sh
# Attempts of one job below a launcher that starts it again are distinguished by what the launcher says: report, top and hang take the
# last one, --job another. Launches without such a word are listed, and none is taken.
set -eu
. "$SOURCE/tests/preload.sh"
. "$SOURCE/tests/complain.sh"
# attempt RUN ITERATIONS VARIABLE=VALUE...: a rank of one
attempt() {
	run=$1 iterations=$2
	shift 2
	env "$@" RANK=0 WORLD_SIZE=1 PMHOOK_OUT="$run" LD_LIBRARY_PATH="$BUILD/softgpu" SOFTGPU_PROFILE=a100 LD_PRELOAD="$(sanitizer_runtime) $HOOK" \
		"$BUILD/bin/train_mlp" --synthetic --batch 64 --iterations "$iterations" --print 0 >trainer.out 2>&1 || complain "$(cat trainer.out)"
}

elastic="TORCHELASTIC_MAX_RESTARTS=2 TORCHELASTIC_RUN_ID=none"
# shellcheck disable=SC2086
attempt elastic 20 TORCHELASTIC_RESTART_COUNT=0 $elastic
# shellcheck disable=SC2086
attempt elastic 30 TORCHELASTIC_RESTART_COUNT=1 $elastic
"$BUILD/bin/pmanalyze" report elastic >last 2>&1 || complain "report: $(cat last)"
"$BUILD/bin/pmanalyze" report --job 1 elastic >first 2>&1 || complain "report --job 1: $(cat first)"
grep -q 'of 30 iterations' last || complain "the last attempt has 30 iterations: $(cat last)"
grep -q 'the last of 2 attempts' last || complain "that there was another is not said"
grep -q 'of 20 iterations' first || complain "the first attempt has 20 iterations: $(cat first)"
"$BUILD/bin/pmanalyze" top --json elastic >top 2>&1 || complain "top: $(cat top)"
"$BUILD/bin/pmanalyze" hang --json elastic >hang || complain "hang: $(cat hang)"
grep -q '"attempt":[[:space:]]*2' hang || complain "hang: $(cat hang)"
# of a scheduler that requeues a job, with the job's name
attempt slurm 20 SLURM_RESTART_COUNT=0 SLURM_JOB_ID=17
attempt slurm 30 SLURM_RESTART_COUNT=1 SLURM_JOB_ID=17
"$BUILD/bin/pmanalyze" report slurm 2>&1 | grep -q 'of 30 iterations' || complain "Slurm: $("$BUILD/bin/pmanalyze" report slurm 2>&1)"
# two jobs, which are none of each other's attempts
attempt jobs 20 SLURM_RESTART_COUNT=0 SLURM_JOB_ID=17
attempt jobs 30 SLURM_RESTART_COUNT=1 SLURM_JOB_ID=18
! "$BUILD/bin/pmanalyze" report jobs >said 2>&1 || complain "two jobs are read as one"
grep -q 'choose one with --job N' said || complain "two jobs: $(cat said)"
exit $bad
