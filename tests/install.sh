#!/bin/sh
# What cmake --install puts into a prefix works from there, and from where the prefix is moved: the programs with their library,
# softgpu and spaces, the trainers, and a manual page for each program and command.
set -eu
. "$SOURCE/tests/complain.sh"
cmake --install "$BUILD" --prefix "$SCRATCH/first" >installed
mv first prefix
prefix=$SCRATCH/prefix
unset LD_LIBRARY_PATH
export PATH="$prefix/bin:$PATH"
hook=$(pmrun --library)
case $hook in
"$prefix"/*/libpmhook.so) ;;
*) complain "pmrun's library is $hook" ;;
esac
lib=$(dirname "$hook")

# softgpu is out of the library path; the vendor's names in it are for pmrun alone
[ -e "$lib/pmhook/softgpu/libcudart.so.13" ] || complain "no softgpu: $(cat installed)"
if ls "$lib" | grep 'libcu\|libnccl\|softgpu'; then
	complain "stand-ins in the library path"
fi

# one version
for program in pmrun pmanalyze pmfit; do
	"$program" --version | sed -n 's/^\(pmrun\|pmanalyze\|pmfit\|libpmhook\|GPU stand-in: softgpu\) \([0-9.]*\).*/\2/p'
done >versions
PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --modversion pmfit >>versions || echo none >>versions
[ "$(wc -l <versions)" = 6 ] && [ "$(sort -u versions | wc -l)" = 1 ] || complain "versions: $(cat versions)"

# the main job
mkdata --dataset mnist --out data --train 600 --test 100
for softgpu in --softgpu --softgpu=a100; do
	rm -rf run.train_cnn
	pmrun -q -n 2 $softgpu -- train_cnn --data data --batch 64 --iterations 9 >trained || complain "$softgpu: $(cat trained)"
	pmanalyze report run.train_cnn >report 2>&1 || complain "report: $(cat report)"
	grep -q '^  backward  *[0-9]' report || complain "$softgpu: $(cat report)"
done
pmanalyze html -o report.html run.train_cnn >shown && grep -q '</html>' report.html || complain "no HTML report"
pmfit sweep --dry-run --trials 3 lenet5 >plan 2>&1 || complain "a space: $(cat plan)"

pmrun demo >demo 2>&1 && grep -q 'Straggler rank 2: slower layer conv2' demo && [ -s run.demo/report.html ] ||
	complain "pmrun demo: $(cat demo)"
DISPLAY='' WAYLAND_DISPLAY='' pmrun -o run.here demo --html >demo 2>&1
grep -q "^The page is one file: file://$PWD/run.here/report.html$" demo && grep -q "scp .*:$PWD/run.here/report.html" demo ||
	complain "pmrun demo --html without a desktop: $(cat demo)"
mkdir desktop && printf '#!/bin/sh\necho "$1" >opened\n' >desktop/xdg-open && chmod +x desktop/xdg-open
DISPLAY=:0 PATH="$PWD/desktop:$PATH" pmrun -o run.opened demo --html >demo 2>&1 && grep -q '^run.opened/report.html$' opened ||
	complain "pmrun demo --html: $(cat demo)"

# manual pages
if [ -n "$MAN_PAGES" ]; then
	for program in pmrun pmanalyze pmfit; do
		bash -n "$prefix/share/bash-completion/completions/$program" || complain "$program: bash"
		[ -s "$prefix/share/zsh/site-functions/_$program" ] || complain "$program: zsh"
		[ -s "$prefix/share/fish/vendor_completions.d/$program.fish" ] || complain "$program: fish"
	done
	# what bash offers after "pmanalyze lay" and after "pmfit fit --lamb"
	cat >complete.bash <<'END'
. "$1/share/bash-completion/completions/$2"
COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
"_$2"
echo "${COMPREPLY[*]}"
END
	offered=$(bash complete.bash "$prefix" pmanalyze lay)
	[ "$offered" = layers ] || complain "pmanalyze lay: '$offered'"
	offered=$(bash complete.bash "$prefix" pmfit fit --lamb)
	[ "$offered" = '--lambda --lambda-powers' ] || complain "pmfit fit --lamb: '$offered'"
	pages=$(find "$prefix" -type d -name man1)
	for program in "$prefix"/bin/*; do
		name=${program##*/}
		echo "$name"
		case $name in
		pmanalyze | pmfit) "$name" --help | sed -n "/COMMAND --help/q; s/^  \([a-z]*\) .*/$name-\1/p" ;;
		esac
	done | sort >expected
	(cd "$pages" && ls) | sed 's/\.1$//' | sort >found
	diff expected found || complain "the manual pages"
	[ "$(wc -l <expected)" -gt 30 ] || complain "$(cat expected)"
	if command -v man >/dev/null; then
		for page in "$pages"/*; do
			LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>warnings >shown || complain "man does not show $page"
			[ ! -s warnings ] || complain "$page: $(head -n 3 warnings)"
			for heading in NAME SYNOPSIS DESCRIPTION; do
				grep -q "^$heading$" shown || complain "$page has no $heading"
			done
		done
	fi
fi
exit $bad
