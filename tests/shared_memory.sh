#!/bin/sh
# A full /dev/shm, and one that cannot be written to: softgpu's NCCL names the file, what happened, and a remedy, once for each process.
set -eu
bin=$BUILD/bin

. "$SOURCE/tests/complain.sh"

unshare -rm sh -c 'mount -t tmpfs tmpfs /dev/shm' 2>/dev/null || {
	echo "skipped: no mounts in a namespace of one's own here"
	exit 77
}

# one_case OPTIONS WANTED...: train on two ranks with such a /dev/shm
one_case() {
	options=$1
	shift
	status=0
	unshare -rm sh -c "mount -t tmpfs -o $options tmpfs /dev/shm && exec timeout 60 '$bin/pmrun' -q -n 2 -o run.$options --softgpu=a100 -- \
		'$bin/train_mlp' --synthetic --iterations 2 --print 0" >said 2>&1 || status=$?
	[ $status -ne 0 ] && [ $status -ne 124 ] || complain "$options: ends with $status"
	for wanted; do grep -q "$wanted" said || complain "$options: does not say '$wanted': $(cat said)"; done
	[ "$(grep -c 'softgpu: NCCL:' said)" -le 2 ] || complain "$options: says it again"
}

one_case size=4k 'softgpu: NCCL: no [0-9]* KiB in /dev/shm/softgpu-[-0-9a-f]*: No space left on device; give it more room (docker run --shm-size=1g'
# the first pages have room, the slots that collectives go through have not
one_case size=64k 'softgpu: NCCL: no [0-9]* KiB in /dev/shm.*: No space left on device'
one_case ro 'softgpu: NCCL: no 4 KiB in /dev/shm/softgpu-[-0-9a-f]*: Read-only file system; it must be a tmpfs that this user can write to'
exit $bad
