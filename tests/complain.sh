# To be sourced by tests that go on after something is wrong and end with `exit $bad`.
bad=0

# complain WORD...: what is wrong, and in which case where the cases have a $name
complain() {
	echo "not ok${name:+ $name}: $*"
	bad=1
}

# fail WORD...: the rest of the test would say nothing
fail() {
	echo "not ok${name:+ $name}: $*"
	exit 1
}

# expect STATUS PATTERN COMMAND...: the exit status, and a line that both outputs together have, which stay in the file `output`
expect() {
	wanted=$1 pattern=$2 status=0
	shift 2
	"$@" >output 2>&1 </dev/null || status=$?
	[ "$status" = "$wanted" ] || complain "$*: exit status $status, not $wanted: $(head -n 3 output)"
	grep -q -e "$pattern" output || complain "$*: no '$pattern' in: $(head -n 5 output)"
}
