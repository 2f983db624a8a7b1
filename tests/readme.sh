#!/bin/sh
# A page's session: its commands, run as they stand there, print what stands there, numbers aside.
#
# usage: readme.sh PAGE
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C.UTF-8
. "$SOURCE/tests/complain.sh"

# Numbers, the spaces between columns, which rank or layer was slowest, whether a fit has a term at its bound, and how sure an advice is,
# differ from run to run.
mask() {
	sed 's/-\{0,1\}[0-9][0-9.]*\(e[-+]\{0,1\}[0-9]\{1,\}\)\{0,1\}/N/g; s/ at lower bound$//; s/N[%]/N/g; s/-N/N/g; s/--*/-/g; s/  */ /g; s/, [mu]s$/, UNIT/; s/N [mu]s/N UNIT/g; s/ on [^ ,]*,/ on HOST,/; s/ \(moderate\|weak\) / SURE /; s/ $//' | grep -v '^$'
}

# The commands of the session begin with "    $ "; what follows is their output, until the next. Other blocks are not sessions.
awk '/^[^ ]/ { on = 0 } /^    [$] / { on = 1 } on && /^    / { print substr($0, 5) }' "$SOURCE/$1" >session
grep -c '^\$ ' session >/dev/null || complain "no session in $1"
sed -n 's/^\$ //p' session >commands
while read -r command; do
	printf '$ %s\n' "$command"
	sh -c "$command" 2>&1 || complain "'$command' failed"
done <commands >output
mask <session >session.masked
mask <output >output.masked
# sentences break their lines according to the numbers in them; that they are there is enough
sentences='^ *\(Step\|Equation\|Communication\|Balance\|Recording overhead\):'
[ "$(grep -c "$sentences" session.masked)" = "$(grep -c "$sentences" output.masked)" ] || complain "other sentences"
for text in session output; do
	# what is found on a machine without a model of time, and its numbered findings, differ too
	awk '/^ *(Step|Equation|Communication|Balance|Recording)|^First finding|^(Cause|Where it shows|Layers with|Waiting for|Load imbalance|Iteration:|Replay)|^run[.a-z]* is N slower|^(How|Which|What|Links|Memory|Batch|Besides|Such) |^(Memory|Batch): |^- [A-Z]|^N [a-z0-9 ]*[A-Za-z]/ { sentence = 1; next } /^[$A-Z]/ { sentence = 0 } !sentence' \
		$text.masked >$text.tables
done
diff session.tables output.tables || complain "the session prints something else"
exit $bad
