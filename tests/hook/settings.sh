#!/bin/sh
# Mistakes in settings: pmrun names them and does not start; the hook names them once, in the trace of every process, and goes
# on with the defaults. What is right is taken without a word. pmrun names its own wrong options, too. pmrun --library says where the hook
# is, or what is missing.
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on
bin=$BUILD/bin

. "$SOURCE/tests/complain.sh"

# recorded LOOK: what does not depend on time
recorded() {
	grep -E '^(call|window)' "$1"
}

# a folder that is not there is made; its parents are not
with_hook env PMHOOK_OUT="$SCRATCH/no/such" "$bin/invisible_host" threads >no.out 2>no.err || complain "without a folder it ends with $?"
grep -q '^pmhook: .*/no/such: No such file or directory: nothing is recorded' no.err || complain "no folder: $(cat no.err)"
[ ! -e no ] || complain "the parents were made"

# wrong SETTING TEXT [SENTENCE]: refused by pmrun; told, noted and reported by the hook, which records as if it were not there
wrong() {
	sentence=${3:-"$1: expected [^']*, found '$2'"}
	status=0
	env "$1=$2" "$bin/pmrun" -o refused /bin/echo ran >refused.out 2>&1 || status=$?
	[ $status = 2 ] || complain "pmrun with $1=$2 ends with $status"
	grep -qx "pmrun: $sentence" refused.out || complain "pmrun says of $1=$2: $(cat refused.out)"
	[ ! -e refused ] && ! grep -q '^ran' refused.out || complain "pmrun starts with $1=$2"
	with_hook env PMHOOK_OUT="$SCRATCH/told" "$1=$2" "$bin/invisible_host" threads >told.out 2>told.err ||
		complain "the hook with $1=$2 ends with $?"
	[ "$(grep -cE "^pmhook: $sentence(; using the default)?$" told.err)" = 1 ] && [ "$(wc -l <told.err)" = 1 ] ||
		complain "the hook says of $1=$2: $(cat told.err)"
	"$bin/trace_look" told/*.pmtrace >told.look || complain "$1=$2: no trace"
	grep -qE "^note warning: $sentence(; using the default)?$" told.look || complain "no note of $1=$2"
	recorded told.look | cmp -s - right.calls || complain "$1=$2: not recorded as by default"
	"$bin/pmanalyze" report told >told.report 2>&1 || true
	tr -s ' \n' ' ' <told.report | grep -qF "$1" || complain "the report says nothing of $1=$2: $(cat told.report)"
	rm -rf told
}

# right SETTING TEXT
right() {
	env "$1=$2" "$bin/pmrun" -q -o right /bin/true 2>right.err || complain "pmrun refuses $1=$2: $(cat right.err)"
	rm -rf right
	with_hook env PMHOOK_OUT="$SCRATCH/right" "$1=$2" "$bin/invisible_host" threads >right.out 2>right.err ||
		complain "$1=$2 ends with $?"
	! grep -v '^pmhook: process' right.err || complain "the hook says something of $1=$2"
	rm -rf right
}

with_hook env PMHOOK_OUT="$SCRATCH/right" "$bin/invisible_host" threads >right.out 2>right.err || complain "ends with $?"
[ ! -s right.err ] || complain "without settings the hook says $(cat right.err)"
"$bin/trace_look" right/*.pmtrace >right.look
recorded right.look >right.calls
[ -s right.calls ] || complain "nothing is recorded"
rm -rf right

wrong PMHOOK_MODE foo
wrong PMHOOK_DEVICE cuda
wrong PMHOOK_DEVICE_SHARE 101
wrong PMHOOK_DEVICE_SHARE 5%
wrong PMHOOK_NEW_SHARE 101
wrong PMHOOK_CUPTI_JOIN records
wrong PMHOOK_WINDOW 3-1
wrong PMHOOK_WINDOW signal:KILL
wrong PMHOOK_FILES maybe
wrong PMHOOK_SITE_DEPTH -1
wrong PMHOOK_PYTHON of
wrong PMHOOK_NVTX of
wrong PMHOOK_FRAMEWORK jax
wrong PMHOOK_MAX_MB 1x
wrong PMHOOK_MAX_MB 99999999999999999999
wrong PMHOOK_FILE_MODE 0480
wrong PMHOOK_FILE_MODE 0400
wrong PMHOOK_VERBOSE loud
wrong PMHOOK_FILE off 'unknown setting PMHOOK_FILE: did you mean PMHOOK_FILES.'
wrong PMHOOK_COLOUR 1 'unknown setting PMHOOK_COLOUR: see pmrun --help'
wrong PMHOOK_MODE "$(printf 'a\033[2Jb')" "PMHOOK_MODE: expected [^']*, found 'a..2Jb'"
for setting in PMHOOK_MODE=full PMHOOK_MODE= PMHOOK_DEVICE=none PMHOOK_DEVICE_SHARE=0 PMHOOK_DEVICE_SHARE=100 PMHOOK_WINDOW=10 PMHOOK_WINDOW=10-20 PMHOOK_WINDOW=signal:USR1 \
	PMHOOK_WINDOW=profiler PMHOOK_FILES=off PMHOOK_FILES=1 PMHOOK_SITE_DEPTH=0 PMHOOK_PYTHON=no PMHOOK_MAX_MB=0 \
	PMHOOK_MAX_MB=100000 PMHOOK_FILE_MODE=640 PMHOOK_FILE_MODE=0666 PMHOOK_VERBOSE=yes; do
	right "${setting%%=*}" "${setting#*=}"
done

# once a job: not by the other ranks, but in all traces
mkdir ranks
for rank in 0 1 2; do
	with_hook env PMHOOK_OUT="$SCRATCH/ranks" PMHOOK_MODE=foo RANK=$rank WORLD_SIZE=3 "$bin/invisible_host" threads \
		>ranks.out 2>>ranks.err || complain "rank $rank ends with $?"
done
[ "$(wc -l <ranks.err)" = 1 ] || complain "three ranks say: $(cat ranks.err)"
[ "$("$bin/trace_look" ranks/*.pmtrace | grep -c '^note warning: PMHOOK_MODE')" = 3 ] || complain "not in all ranks' traces"

# wrong options of pmrun's own
while read -r option sentence; do
	status=0
	"$bin/pmrun" "$option" >option.out 2>&1 </dev/null || status=$?
	[ $status = 2 ] && [ "$(head -n 1 option.out)" = "pmrun: $sentence" ] || complain "pmrun $option: $status, $(cat option.out)"
done <<-'END'
	--outpt unknown option '--outpt' (did you mean '--output'?)
	--bogus unknown option '--bogus'
	-Z unknown option '-Z'
	--quiet=3 option '--quiet' takes no argument
	--ranks option '--ranks' requires an argument
END

# where the library is
library=$(cd / && "$bin/pmrun" --library)
case $library in
/*) ;;
*) complain "pmrun --library prints '$library'" ;;
esac
[ "$library" -ef "$HOOK" ] || complain "pmrun --library prints '$library' instead of '$HOOK'"
cp "$bin/pmrun" .
for command in '--library' '/bin/true'; do
	status=0
	./pmrun $command >moved.out 2>&1 || status=$?
	[ $status = 125 ] || complain "pmrun without the hook ends with $status"
	grep -q "libpmhook.so" moved.out && grep -qF "$SCRATCH" moved.out || complain "it says: $(cat moved.out)"
done
mkdir 'with blank'
cp "$bin/pmrun" "$HOOK" 'with blank'
if 'with blank/pmrun' --library >blank.out 2>&1; then complain "a path that LD_PRELOAD cannot name: $(cat blank.out)"; fi
grep -q 'blank' blank.out || complain "it says: $(cat blank.out)"
exit $bad
