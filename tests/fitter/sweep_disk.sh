#!/bin/sh
# A sweep whose disk is full stops, says so and blames no trial; when there is room the same command makes the rest, each trial
# once. Needs to mount a small file system, so root.
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C
mkdir disk
if ! mount -t tmpfs -o size=400k tmpfs disk 2>/dev/null; then
	echo "cannot mount a small file system here"
	exit 77
fi
trap 'cd "$SCRATCH"; umount disk' EXIT
cd disk
cat >a.space <<'END'
time s s
intrinsic size
extrinsic gpus
levels size 1 2 3 4 5 6
levels gpus 1 2
command sh -c "head -c {size}0000 /dev/zero >{out}/data && echo step {size}.{gpus}"
time-from regex:^step ([0-9.]+)$
END
. "$SOURCE/tests/complain.sh"
for jobs in 1 3; do
	rm -rf t.csv t.csv.runs
	head -c 350k /dev/zero >filler
	status=0
	pmfit sweep -q --design full --jobs "$jobs" -o t.csv a.space >text 2>&1 || status=$?
	[ "$status" = 1 ] || fail "exit code $status, not 1: $(cat text)"
	grep -q 'no space left on the device: trial [0-9]* is not counted' text || fail "no word of the disk: $(cat text)"
	! grep -q failed t.csv || fail "a trial is blamed: $(cat t.csv)"
	[ "$(wc -l <t.csv)" -lt 13 ] || fail "all trials were made, so the disk was never full"
	rm filler
	pmfit sweep -q --design full --jobs "$jobs" -o t.csv a.space >text 2>&1 || fail "with room: $(cat text)"
	[ "$(tail -n +2 t.csv | cut -d, -f2,6 | sort -n | tr '\n' ' ')" = "$(seq -f '%g,done' 12 | tr '\n' ' ')" ] ||
		fail "not each trial once: $(cat t.csv)"
done
# a trial that fails of itself is still its own fault
sed 's/ && echo step/ \&\& false \&\& echo step/' a.space >b.space
pmfit sweep -q --design full --trials 2 --give-up 0 -o u.csv b.space >text 2>&1 || true
grep -q failed u.csv || fail "a trial that fails is not recorded: $(cat text)"
