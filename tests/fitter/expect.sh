# To be sourced: pmfit, and a check of what a command prints and how it ends. The scratch folder gets out.txt.
pmfit=$BUILD/bin/pmfit
fail() {
	echo "$*"
	exit 1
}
expect() { # a word, then a command: it is in what the command prints, and the status is as `status` says
	word=$1
	shift
	"$@" >out.txt 2>&1
	got=$?
	grep -qF -- "$word" out.txt || { cat out.txt; fail "$*: no '$word'"; }
	[ $got = "$status" ] || fail "$*: status $got"
}
