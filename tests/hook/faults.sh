#!/bin/sh
# The k-th mapping, opening, write, look at a file, loading of a library or making of a thread that the hook asks for fails, once and
# from then on, for every k that there is time for: the host ends as without the hook, and in time; the trace can be read, and
# has every call or says how many it has not.
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_VERBOSE=off
case ${PM_SANITIZE:-} in
*thread*) echo "too slow under the thread sanitizer" && exit 77 ;;
esac
host="$BUILD/bin/faults_host $SCRATCH/data.bin"
ends=$(($(date +%s) + PM_STRESS_SECONDS))
head -c 40000 /dev/zero >data.bin

# start FOLDER SETTING...: the host under the hook with what fails; what it prints and ends with is in the folder
start() {
	folder=$1 status=0
	shift
	rm -rf "$folder"
	mkdir -p "$folder/traces"
	# shellcheck disable=SC2086
	HOOK="$HOOK:$BUILD/lib/libfaults.so" with_hook timeout 30 \
		env PMHOOK_OUT="$SCRATCH/$folder/traces" "$@" $host >"$folder/out" 2>"$folder/err" || status=$?
	echo "status $status" >>"$folder/out"
}

status=0
# shellcheck disable=SC2086
$host >expected || status=$?
echo "status $status" >>expected

# look FOLDER CALLS: complains of what the run left
look() {
	cmp -s expected "$1/out" || { echo "the host says: $(diff expected "$1/out" | tr '\n' ' ')" && return; }
	! grep -v '^pmhook: ' "$1/err" || return 0
	set -- "$1" "$2" "$1"/traces/*
	if [ ! -e "$3" ]; then
		# a message that cannot be written either is nobody's fault
		[ "$on" = yes ] || grep -q 'nothing is recorded' "$1/err" || echo "no trace, and no word of it"
		return
	fi
	[ $# = 3 ] || { echo "more than one trace" && return; }
	[ -s "$3" ] || { echo "an empty file is left" && return; }
	"$BUILD/bin/faults_look" "$3" >"$1/look" 2>&1 || { echo "cannot be read: $(cat "$1/look")" && return; }
	# what is lost may be device times
	awk -v calls="$2" '
		$2 > calls || $2 + $4 < calls { print "of " calls " calls: " $0 }
		$6 >= 0 && $6 != calls { print "the footer says otherwise than " calls ": " $0 }' "$1/look"
	read_by=0
	"$BUILD/bin/pmanalyze" report "$3" >"$1/report" 2>&1 || read_by=$?
	[ $read_by -le 1 ] || echo "pmanalyze report ends with $read_by"
	read -r _ _ _ lost _ _ _ unknown _ _ _ _ _ footer <"$1/look"
	[ "$lost" = 0 ] || grep -q "$lost records were lost" "$1/report" || echo "the report does not say: $(cat "$1/look")"
	[ "$footer" = yes ] || grep -q 'the end is missing' "$1/report" || echo "the report does not say: $(cat "$1/look")"
	[ "$unknown" = 0 ] || grep -q 'description' "$1/report" || echo "the report does not say: $(cat "$1/look")"
}

# half ODD: every second k of all ways, spread over the run, until the time is over
half() {
	n=0 done=0 i=$1
	while [ "$i" -lt $((ways * count)) ]; do
		# every way at every k; in steps that leave no stretch out for long
		k=$((1 + i / ways * step % count))
		case $((i % ways)) in
		0) device=events on=no ;;
		1) device=auto on=yes ;;
		2) device=auto on=no ;;
		esac
		settings="PMHOOK_DEVICE=$device FAULTS_ON=$on"
		i=$((i + 2))
		# shellcheck disable=SC2086
		start "run$1" $settings FAULTS_AT="$k"
		look "run$1" "$calls" >"run$1.bad" 2>&1
		done=$((done + 1))
		if [ -s "run$1.bad" ]; then
			sed "s/^/$settings FAULTS_AT=$k: /" "run$1.bad" >>"bad$1"
			n=$((n + 1))
		fi
		[ "$(date +%s)" -lt "$ends" ] || break
	done
	echo "$done $n" >"tally$1"
}

# gcd A B
gcd() {
	if [ "$2" = 0 ]; then echo "$1"; else gcd "$2" $(($1 % $2)); fi
}

ways=3 on=no
start whole PMHOOK_DEVICE=events FAULTS_AT=0 FAULTS_COUNT="$SCRATCH/count"
count=$(cat count)
calls=$("$BUILD/bin/faults_look" whole/traces/* | awk '{ print $2 }')
look whole "$calls" >whole.bad
[ ! -s whole.bad ] || { cat whole.bad && exit 1; }
[ "$count" -gt 50 ] || { echo "only $count calls can fail: is libfaults.so behind the hook?" && exit 1; }
: >bad0 && : >bad1
step=$((count * 618 / 1000))
while [ "$(gcd "$step" "$count")" != 1 ]; do step=$((step + 1)); done
half 0 &
half 1
wait
cat bad0 bad1
awk -v count="$count" '{ runs += $1; bad += $2 } END { print runs " runs of " 3 * count ", " bad + 0 " wrong" }' tally0 tally1
[ ! -s bad0 ] && [ ! -s bad1 ]
