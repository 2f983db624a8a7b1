#!/bin/sh
# pmanalyze and pmfit where an allocation fails, once or from then on: each ends with what it would have printed, or with an exit
# status of 1 and a sentence, and never by a signal. Of many allocations some are tried, others each second of $PM_STRESS_SECONDS.
set -u
case ${PM_SANITIZE:-} in
?*)
	echo "the sanitizer has allocation functions of its own"
	exit 77
	;;
esac
export PATH="$BUILD/bin:$PATH" LC_ALL=C
library=$BUILD/lib/libno_memory.so
most=${1:-12} # of a command in a round
tried=0

. "$SOURCE/tests/complain.sh"

# under COMMAND...: with the library; its figures are in the environment
under() {
	rm -rf made
	timeout 60 env LD_PRELOAD="$library" "$@" >out 2>err </dev/null
}

# the times that pmfit took for its methods are in the last column
same() {
	sed 's/  *[0-9.]*$//' out >out.untimed
	sed 's/  *[0-9.]*$//' whole | cmp -s out.untimed -
}

# try K ON COMMAND...
try() {
	k=$1 on=$2
	shift 2
	status=0
	NO_MEMORY_AT=$k NO_MEMORY_ON=$on under "$@" || status=$?
	tried=$((tried + 1))
	case $status in
	0) same || complain "allocation $k ($on) of $*: it prints something else: $(diff out whole | head -n 4)" ;;
	1 | 2) [ -s err ] || complain "allocation $k ($on) of $*: exit status $status without a word" ;;
	*) complain "allocation $k ($on) of $*: exit status $status: $(tail -n 2 err)" ;;
	esac
}

# each ROUND COMMAND...
each() {
	round=$1
	shift
	NO_MEMORY_COUNT=count under "$@" || {
		complain "$*: exit status $?: $(cat err)"
		return
	}
	mv out whole
	count=$(cat count)
	# the first ones each, as those of the options and files, others at equal distances that are different ones in each round
	i=0
	while [ $i -lt "$most" ]; do
		if [ "$count" -le "$most" ] || [ $i -lt $((most / 4)) ]; then
			k=$((i + 1 + round * most / 4))
		else
			k=$(((i * 7919 + round * 104729) % count + 1))
		fi
		i=$((i + 1))
		[ $k -le "$count" ] || continue
		try $k "$([ $((i % 3)) = 0 ] && echo yes || echo no)" "$@"
	done
}

mkdir run
"$BUILD/bin/make_trace" run three || exit 1
pmanalyze export --kineto -o kineto run 2>/dev/null
awk 'BEGIN { print "x,y,t"; for (i = 1; i <= 30; i++) print i "," i % 4 + 1 "," 3 * i + i % 4 }' >table.csv
pmfit fit --time t --intrinsic x --seed 1 -o model.json table.csv >/dev/null 2>&1 || true
pmanalyze export --observations -o observations.csv run 2>/dev/null
begin=$(date +%s)
round=0
while [ $round = 0 ] || [ $(($(date +%s) - begin)) -lt "$PM_STRESS_SECONDS" ]; do
	each "$round" pmanalyze report run
	each "$round" pmanalyze report --json run
	each "$round" pmanalyze report kineto
	each "$round" pmanalyze dump --ops --csv run/program.0.pmtrace
	each "$round" pmanalyze html -o made run
	each "$round" pmanalyze balance run
	each "$round" pmanalyze whatif run
	each "$round" pmanalyze compare --json run run
	each "$round" pmfit advise --cluster dgx-a100 run
	each "$round" pmfit auto --time t table.csv
	each "$round" pmfit baselines --time t --intrinsic x table.csv
	[ ! -f model.json ] || each "$round" pmfit predict model.json table.csv
	round=$((round + 1))
done
echo "$tried allocations"
exit $bad
