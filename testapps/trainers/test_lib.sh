# What the tests of the training programs share: a folder to work in, runs of one and of several processes, comparisons.
# Each test sources it first; its first argument is the folder of the programs.
set -u
bin=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
	echo "$*"
	failures=$((failures + 1))
	[ $failures -lt 10 ] || exit 1
}

# run NAME PROGRAM OPTION...: one process; its losses go to NAME.log, its weights to NAME.weights.
run() {
	name=$1 program=$2
	shift 2
	"$bin/$program" --data "$work/mnist" --print 1 --save "$work/$name.weights" "$@" >"$work/$name.log" 2>&1 ||
		fail "$name: $program $*: exit status $?: $(tail -n 1 "$work/$name.log")"
}

# A port that nobody listens on, of those that the kernel gives to nobody by itself.
port=$((10000 + $$ % 20000))
next_port() {
	port=$((port + 1))
	while grep -q ":$(printf %04X $port) " /proc/net/tcp; do
		port=$((port + 1))
	done
}

# start N NAME PROGRAM OPTION...: N processes. What rank R prints goes to NAME.log.R; $last_option is that of the last rank
# alone.
last_option=
start() {
	world=$1 name=$2 program=$3
	shift 3
	next_port
	pids=
	for rank in $(seq 0 $((world - 1))); do
		[ "$rank" -lt $((world - 1)) ] || set -- "$@" $last_option
		RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$world MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
			timeout 60 "$bin/$program" --data "$work/mnist" --save "$work/$name.weights" "$@" \
			>"$work/$name.log.$rank" 2>&1 &
		pids="$pids $!"
	done
}

# ranks N NAME PROGRAM OPTION...: the same, done; what all print goes to NAME.log.
ranks() {
	start "$@"
	for pid in $pids; do
		wait "$pid" || fail "$*: exit status $?: $(tail -qn 1 "$work/$name.log".*)"
	done
	cat "$work/$name.log".* >"$work/$name.log"
	rm "$work/$name.log".*
}

# identical A B: the same losses and weights, bit for bit.
identical() {
	cmp "$work/$1.weights" "$work/$2.weights" >"$work/cmp" 2>&1 || fail "$1 and $2: $(cat "$work/cmp")"
	cmp "$work/$1.log" "$work/$2.log" >"$work/cmp" 2>&1 || fail "$1 and $2: $(cat "$work/cmp")"
}

# close A B [TOLERANCE]: the same losses but for rounding.
close() {
	paste -d ' ' "$work/$1.log" "$work/$2.log" | awk -v name="$1 and $2" -v tolerance="${3:-1e-4}" '
		/ loss / {
			split($0, word)
			a = word[NF / 2]; b = word[NF]; d = a > b ? a - b : b - a
			if (!(d <= tolerance * a)) { print name ": " $0; bad = 1 }
			n++
		}
		END { exit bad || n < 2 }' || fail "$1 and $2: other losses"
}

# falls NAME FACTOR [COUNT]: the mean of the last COUNT losses, 3, is below FACTOR times that of as many first ones.
falls() {
	awk -v factor="$2" -v count="${3:-3}" '/ iteration / { x[n++] = $NF }
		END {
			for (i = 0; i < count; i++) {
				first += x[i]
				last += x[n - 1 - i]
			}
			exit !(n >= 2 * count && last < factor * first && last > 0)
		}' "$work/$1.log" ||
		fail "$1: the loss does not fall: $(awk '/ iteration / { print $NF }' "$work/$1.log" | xargs)"
}

# refused STATUS TEXT COMMAND...: what cannot be ends with the status and one sentence, which has the text in it.
refused() {
	status=$1 text=$2
	shift 2
	"$@" >"$work/refused" 2>&1
	got=$?
	if [ $got -ne "$status" ] || [ "$(wc -l <"$work/refused")" -ne 1 ] ||
		! grep -qFe "$text" "$work/refused"; then
		fail "$*: status $got, \"$(cat "$work/refused")\"; $status and \"$text\" expected"
	fi
}
