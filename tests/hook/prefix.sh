#!/bin/sh
# pmrun --prefix: whole lines with their rank, in the stream they were written to, whatever pieces they come in; on a terminal a
# status line with the iterations, never mixed with them. And what pmrun says of programs that fail.
set -eu
export PATH="$BUILD/bin:$PATH"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE SLURM_JOB_ID SLURM_STEP_ID PMIX_NAMESPACE PMI_JOBID PBS_JOBID LSB_JOBID || true
. "$SOURCE/tests/complain.sh"
says() { # FILE REGEX
	grep -Eq -- "$2" "$1" || complain "$1 lacks '$2': $(cat "$1")"
}

# pieces, no line end at the end, zeros, a line longer than a buffer, and a child that keeps the pipe
pmrun -p -n 3 -o pieces -- sh -c 'printf "a "; printf "b\nc\0d\n" ; printf "last $RANK"; echo "err $RANK" >&2
	head -c 20000 /dev/zero | tr "\0" x; sleep 60 & exit 0' >out 2>err
[ "$(grep -c '^\[[012]\] a b$' out)" = 3 ] || complain "pieces: $(cut -c1-60 out)"
[ "$(grep -c '^\[[012]\] c d$' out)" = 3 ] || complain "zeros: $(cut -c1-60 out)"
for rank in 0 1 2; do
	says out "^\[$rank\] last ${rank}x"
	says err "^\[$rank\] err $rank\$"
	[ "$(grep "^\[$rank\]" out | tr -cd x | wc -c)" = 20000 ] || complain "a long line of rank $rank"
done
grep -v '^\[[012]\] ' out && complain "a line without rank"

# a rank below a launcher has the launcher's number
PMI_RANK=7 pmrun -p -o seven -- echo x >out 2>err || true
says out '^\[7\] x$'

# what is left on a terminal when the status line has been drawn over: the ranks' lines alone
SOFTGPU_TIME_SCALE=200 python3 "$SOURCE/tests/on_terminal.py" 80 sh -c 'exec "$@" 2>&1' sh pmrun -p -n 2 -o tty --softgpu=v100 -- \
	train_cnn --synthetic --batch 1024 --iterations 40 --print 10 >tty.txt
says tty.txt 'pmrun: 2 of 2 ranks running, [0-9:]*, [0-9]+ iterations, '
tr -d '\r' <tty.txt | sed "s/.*$(printf '\033')\[K//" | grep -v '^pmrun: ' >left || true
[ "$(grep -c '^\[0\] epoch 1 iteration [0-9]* loss 0.000000000$' left)" = 4 ] || complain "lines: $(cat left)"
grep -v '^\[0\] epoch' left | grep . && complain "mixed lines: $(cat left)"
# without --prefix the terminal is the program's
pmrun -o quiet --softgpu=v100 -- train_cnn --synthetic --iterations 4 --print 0 >/dev/null 2>err
grep running err && complain "a status line without a terminal"

# failures
code=0
pmrun -o fails -- sh -c 'exit 3' 2>err || code=$?
[ "$code" = 3 ] || complain "status $code"
says err "^pmrun: 'sh' exited with status 3$"
says err "^pmrun: no trace: 'sh' failed before it called a hooked function"
[ -e /dev/nvidiactl ] || says err 'pmrun --softgpu runs it without one$'
pmrun -o fails -- sh -c 'kill -9 $$' 2>err || true
says err "^pmrun: 'sh' was killed by signal 9 "

# paths that a shell would take apart
pmrun -o "it's a/b c" --softgpu=v100 -- train_cnn --synthetic --iterations 4 --print 0 >/dev/null 2>err
eval "$(sed -n 's/^pmrun: now run: //p' err)" >report.txt || complain "$(cat err)"
exit $bad
