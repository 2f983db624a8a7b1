#!/bin/sh
# Checks that every output of pmanalyze and pmfit is there whole or not at all: over a full disk, an interrupt, a link, a pipe, and
# what was there before.
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C
. "$SOURCE/tests/complain.sh"
mkdir run
make_trace run one
cat >runs.csv <<'END'
batch,gpus,ms
8,1,9.1
16,1,17.2
32,1,33.1
8,2,5.1
16,2,9.3
32,2,17.2
END
description="--time ms --intrinsic batch --extrinsic gpus"
pmfit fit -q $description --seeds 1 -o model.json runs.csv >fitted
printf 'time ms\nintrinsic batch\nextrinsic gpus\n' >runs.space

# outputs FILE: each command that writes a file, as words; the file is FILE
outputs() {
	echo "pmanalyze html --force -o $1 run"
	echo "pmanalyze export --perfetto -o $1 run"
	echo "pmanalyze export --observations -o $1 run"
	echo "pmfit fit -q $description --seeds 1 -o $1 runs.csv"
	echo "pmfit fit -q $description --seeds 1 --predictions $1 runs.csv"
	echo "pmfit html -q --force --data runs.csv -d runs.space -o $1 model.json"
}
left() {
	find . -name '.pm-*' | head -n 3
}

# What was there is replaced; its mode and a link to it stay.
mkdir linked
outputs linked/name | while read -r command; do
	rm -f linked/*
	echo old >linked/target
	chmod 640 linked/target
	ln -s target linked/name
	$command >text 2>&1 || echo "fails: $command: $(cat text)"
	[ -L linked/name ] || echo "the link is replaced: $command"
	[ "$(stat -c %a linked/target)" = 640 ] || echo "mode: $command"
	! grep -qx old linked/target || echo "not written: $command"
	[ -z "$(left)" ] || echo "left behind: $command: $(left)"
	# new ones have the mode that the umask leaves
	rm -f linked/*
	(umask 027 && $command >text 2>&1) || echo "fails: $command: $(cat text)"
	[ "$(stat -c %a linked/name)" = 640 ] || echo "mode of a new file: $command"
done >wrong
[ ! -s wrong ] || complain "$(cat wrong)"

# What is no regular file is written directly; a full one is told, and so is a folder that is not there.
mkfifo pipe
outputs pipe | while read -r command; do
	cat pipe >through &
	timeout 60 $command >text 2>&1 || echo "fails: $command: $(cat text)"
	wait $!
	[ -s through ] || echo "nothing came through the pipe: $command"
	[ -p pipe ] || echo "the pipe is replaced: $command"
done >wrong
outputs /dev/stdout | while read -r command; do
	echo before >both
	$command >>both 2>text || echo "fails: $command: $(cat text)"
	[ "$(head -n 1 both)" = before ] && [ "$(wc -c <both)" -gt 60 ] || echo "not on standard output: $command"
done >>wrong
for file in /dev/full no/such/folder; do
	outputs $file | while read -r command; do
		status=0
		$command >text 2>&1 || status=$?
		[ $status = 1 ] || echo "exit status $status: $command"
		grep -q "$file: " text || echo "no word of it: $command: $(cat text)"
	done
done >>wrong
[ ! -s wrong ] || complain "$(cat wrong)"

# A disk that fills up leaves what was there.
mkdir disk
if mount -t tmpfs -o size=96k tmpfs disk 2>/dev/null; then
	outputs disk/file | while read -r command; do
		rm -f disk/filler
		echo old >disk/file
		head -c 200k /dev/zero >disk/filler 2>/dev/null || true
		status=0
		$command >text 2>&1 || status=$?
		[ $status = 1 ] || echo "exit status $status on a full disk: $command"
		[ "$(cat disk/file)" = old ] || echo "the old file is lost: $command"
		[ -z "$(left)" ] || echo "left behind: $command: $(left)"
	done >wrong
	umount disk
	[ ! -s wrong ] || complain "$(cat wrong)"
fi

# A table that grows is as it was, or has all the new rows.
pmanalyze export --observations -o table.csv run
cp table.csv whole.csv
(ulimit -f 0 2>/dev/null && exec pmanalyze export --observations --append -o table.csv run) >text 2>&1 || true
cmp -s table.csv whole.csv || complain "an append that failed changed the table"
pmanalyze export --observations --append -o table.csv run
[ "$(wc -l <table.csv)" = 3 ] || complain "the append that could be made was not"

# Interrupted while it is written, by a signal and by none: the old file is there, and nothing else.
for i in 1 2 3 4 5 6 7 8; do mkdir many$i && make_trace many$i overlap; done
for signal in INT TERM HUP; do
	interrupted=0
	for try in 1 2 3 4 5 6 7 8 9 10; do
		echo old >trace.json
		pmanalyze export --perfetto -o trace.json many1 many2 many3 many4 many5 many6 many7 many8 >/dev/null 2>&1 &
		pid=$!
		# as soon as the file is begun
		while [ -z "$(left)" ] && kill -0 $pid 2>/dev/null; do :; done
		kill -$signal $pid 2>/dev/null || true
		wait $pid 2>/dev/null || true
		[ -z "$(left)" ] || complain "SIG$signal leaves $(left)"
		if grep -qx old trace.json; then
			interrupted=$((interrupted + 1))
		else
			tail -c 3 trace.json | grep -q ']\|}' || complain "SIG$signal: half a file"
		fi
	done
	echo "SIG$signal: $interrupted of 10 interrupted"
done
exit $bad
