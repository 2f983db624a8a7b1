#!/bin/sh
# pmrun --hang-after: a job that hangs is named and, if asked for, ended; before the others of a failed rank are ended, it is
# said what they wait for; a job that goes on is left alone; of one whose launcher has ended it, who was first.
set -eu
export SOFTGPU_NCCL_FAULTS=wait HANG_ID="$SCRATCH/id"
bad=0
complain() {
	echo "not ok: $1"
	cat said
	bad=1
}
run() { # FAULT OPTION...
	fault=$1
	shift
	rm -rf id run
	status=0
	"$BUILD/bin/pmrun" -n 4 -o run --softgpu=a100 -g 1 "$@" -- "$BUILD/bin/hang_host" "$fault" 2 23 2>said || status=$?
}

run stopped --hang-after 1 --hang-end
[ $status = 124 ] || complain "a job that cannot go on ended with status $status, expected 124"
grep -q '^pmrun: Rank 2 is what the others wait for: it is stopped' said || complain "stopped: rank 2 was not named"
# the file says what was printed last
sed '/^$/,$d' run/hang.txt >conclusion
sed -n 's/^pmrun: //p' said | grep -B 99 -F "$(tail -n 1 conclusion)" | tail -n "$(wc -l <conclusion)" >printed
[ -s conclusion ] && cmp conclusion printed || complain "run/hang.txt is not what was printed: $(cat conclusion)"
"$BUILD/bin/pmanalyze" dump run/*.0.pmtrace >/dev/null || complain "the traces cannot be read"

# what ranks have started ends with them, as loaders' workers do not by themselves
rm -rf id run
export BUILD
"$BUILD/bin/pmrun" -q -n 4 -o run --softgpu=a100 -g 1 --hang-after 1 --hang-end -- \
	sh -c 'sleep 600 & echo $! >worker.$RANK; exec "$BUILD/bin/hang_host" stopped 2 23' 2>said || true
# one that nobody has waited for yet has ended, too; a killed one may have to wait for a processor
lives() { grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$(cat "$1")/status"; }
for worker in worker.?; do
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		! lives "$worker" || sleep 0.5
	done
	! lives "$worker" || complain "$worker is left"
done

# A scheduler ends pmrun and all ranks at once: what was known of the hang stays. Of signals that wait pmrun takes SIGTERM first.
rm -rf id run said
"$BUILD/bin/pmrun" -n 4 -o run --softgpu=a100 --hang-after 1 -- "$BUILD/bin/hang_host" input 2 23 2>said &
pmrun=$!
until grep -qs 'stacks of all threads' said; do
	kill -0 $pmrun || { complain "pmrun ended"; exit 1; }
done
kill -STOP $pmrun
ranks=$(grep -sl "^PPid:[[:space:]]*$pmrun\$" /proc/[0-9]*/status | sed 's,/proc/\([0-9]*\)/status,\1,')
# shellcheck disable=SC2086
kill -KILL $ranks
kill -TERM $pmrun
kill -CONT $pmrun
wait $pmrun || true
grep -q '^Rank 2 is what the others wait for: it is outside' run/hang.txt || complain "hang.txt: $(head -n 2 run/hang.txt)"
[ ! -e run/.hang.txt ] || complain "a report that is not whole was left"

# a rank that makes no call may come back: it is named, and nothing is ended
run checkpoint --hang-after 1 --hang-end
[ $status = 0 ] || complain "a healthy job ended with status $status"
rm -rf id run said
"$BUILD/bin/pmrun" -n 4 -o run --softgpu=a100 -g 1 --hang-after 1 --hang-end -- "$BUILD/bin/hang_host" input 2 23 2>said &
pmrun=$!
until grep -qs '^pmrun: Rank 2 is what the others wait for: it is outside' said; do
	kill -0 $pmrun || { complain "pmrun ended"; exit 1; }
	sleep 0.1
done
sleep 3
kill -0 $pmrun || complain "a job was ended that may go on"
kill -TERM $pmrun
wait $pmrun || true

run killed
[ $status = 137 ] || complain "status $status, expected 137 of the rank that was killed"
grep -q '^pmrun: Rank 2 is what the others wait for: it is gone' said || complain "killed: rank 2 was not named"

run slow --hang-after 1
[ $status = 0 ] || complain "a healthy job ended with status $status"
! grep -q 'wait' said || complain "a healthy job was said to hang"

# below a launcher, which ends the others of a rank that was killed
rm -rf id run
"$BUILD/bin/pmrun" -o run --softgpu=a100 -- "$BUILD/bin/hang_host" launch 4 ahead 2 23 2>said && complain "a job that failed ended with status 0"
grep -q "^pmrun: Rank 2's last call was .* before those of the others: it ended first" said || complain "launcher: rank 2 was not named"

"$BUILD/bin/pmrun" --hang-end true 2>said && complain "--hang-end without --hang-after"
grep -q 'Add --hang-after' said || complain "--hang-end: no remedy"
"$BUILD/bin/pmrun" --hang-end-after 5 true 2>said && complain "--hang-end-after without --hang-after"
exit $bad
