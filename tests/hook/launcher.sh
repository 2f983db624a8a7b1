#!/bin/sh
# pmrun below a launcher, which starts one for each rank: all ranks write into one folder, the one that was named or one named
# after the launcher's job; one rank speaks, and says nothing of ranks that may still run.
set -eu
export PATH="$BUILD/bin:$PATH"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE SLURM_JOB_ID SLURM_STEP_ID PMIX_NAMESPACE PMI_JOBID PBS_JOBID LSB_JOBID || true
. "$SOURCE/tests/complain.sh"
# it takes its rank from torchrun alone, so that here it needs no other
trainer="train_cnn --synthetic --batch 64 --iterations 6 --print 0"

# launch NAME PMRUN-OPTION... with the launcher's variables in the environment
launch() {
	name=$1
	shift
	for rank in 0 1; do
		PMI_RANK=$rank pmrun --softgpu=a100 "$@" -- $trainer \
			>"$name.$rank.out" 2>"$name.$rank.err" &
	done
	wait
}
traces() { # FOLDER
	[ "$(find "$1" -name '*.pmtrace' 2>/dev/null | wc -l)" = 2 ] || complain "$1: $(ls . "$1" 2>&1; cat ./*.err)"
}

launch named -o a/b/named
traces a/b/named
grep -q 'pmanalyze report a/b/named' named.0.err || complain "rank 0 says: $(cat named.0.err)"
[ -s named.1.err ] && complain "rank 1 says: $(cat named.1.err)"
grep 'end early' ./*.err && complain "of ranks that still run"

SLURM_JOB_ID=17 SLURM_STEP_ID=2 launch slurm
traces run.train_cnn.17.2
PMIX_NAMESPACE=prterun-1 launch mpi
traces run.train_cnn.prterun-1
TORCHELASTIC_RUN_ID=none WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 launch torchrun
traces run.train_cnn.$$

# no name, or one that leaves the folder
launch none
grep -q 'name their folder with -o' none.0.err || complain "no name: $(cat none.0.err)"
SLURM_JOB_ID=../../x launch escape
grep -q 'name their folder with -o' escape.0.err || complain "a name that leaves: $(cat escape.0.err)"
exit $bad
