#!/bin/sh
# The README's session: its commands, run as they stand there, print what stands there, numbers aside; its packages and
# commands exist; every setting has its place in the help that it points to.
set -eu
export PATH="$BUILD/bin:$PATH"
bad=0
complain() {
	echo "not ok: $*"
	bad=1
}

# Numbers, the spaces between columns, and which rank or layer was slowest, differ from run to run.
mask() {
	sed 's/-\{0,1\}[0-9][0-9.]*/N/g; s/N[%]/N/g; s/-N/N/g; s/--*/-/g; s/  */ /g; s/, [mu]s$/, UNIT/; s/N [mu]s/N UNIT/g; s/ on [^ ,]*,/ on HOST,/; s/ $//' | grep -v '^$'
}

# The commands of the session begin with "    $ "; what follows is their output, until the next.
awk '/^## A session/ { on = 1; next } /^## / { on = 0 } on && /^    / { print substr($0, 5) }' "$SOURCE/README.md" >session
grep -c '^\$ ' session >/dev/null || complain "no session in the README"
sed -n 's/^\$ //p' session >commands
while read -r command; do
	echo "\$ $command"
	sh -c "$command" 2>&1 || complain "'$command' failed"
done <commands >output
mask <session >session.masked
mask <output >output.masked
# sentences break their lines according to the numbers in them; that they are there is enough
sentences='^ *\(Step\|Equation\|Communication\|Balance\|Recording overhead\):'
[ "$(grep -c "$sentences" session.masked)" = "$(grep -c "$sentences" output.masked)" ] || complain "other sentences"
for text in session output; do
	# what is found on a machine without a model of time, and its numbered findings, differ too
	awk '/^ *(Step|Equation|Communication|Balance|Recording)|^First finding|^- [A-Z]|^N [a-z0-9 ]*[A-Za-z]/ { sentence = 1; next } /^[$A-Z]/ { sentence = 0 } !sentence' \
		$text.masked >$text.tables
done
diff session.tables output.tables || complain "the session prints something else"
exit $bad
