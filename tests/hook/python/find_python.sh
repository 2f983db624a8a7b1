# To be sourced. find_python NAME: sets `python` to the interpreter that is called so, which may be a script that finds it. False: there is
# none, or it is of a version that the hook does not read.
find_python() {
	python=$("$1" -c 'import sys; print(sys.executable)') || return 1
	version=$("$python" -c 'import sys; print("%d%02d" % sys.version_info[:2])')
	[ "$version" -ge 308 ] && [ "$version" -le 314 ]
}
