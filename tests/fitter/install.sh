#!/bin/sh
# The README's program, outside of the tree, against the installed library: by pkg-config and by CMake's package, shared and static.
set -eu
BUILD=$(cd "$BUILD" && pwd)
. "$SOURCE/tests/complain.sh"
cmake --install "$BUILD" --component libpmfit --prefix "$SCRATCH/prefix" >installed
config=$(find "$SCRATCH/prefix" -name pmfit.pc)
lib=$(dirname "$(dirname "$config")")
[ -f "$SCRATCH/prefix/include/pm_fit.h" ] || complain "no header: $(cat installed)"

# both export what the header declares, and nothing else
grep -o 'pm_fit[a-z_]*(' "$SOURCE/fitter/pm_fit.h" | tr -d '(' | sort -u >declared
nm -D --defined-only "$lib/libpmfit.so" | awk '$2 != "A" { print $3 }' | sort >shared
nm -g --defined-only "$lib/libpmfit.a" | awk 'NF == 3 { print $3 }' | sort >static
diff declared shared || complain "the shared library's exports"
diff declared static || complain "the static library's exports"
readelf -d "$lib/libpmfit.so" | grep -q 'SONAME.*libpmfit\.so\.[0-9]' || complain "no soname"

mkdir program
cd program
sed -n '/^```c$/,/^```$/p' "$SOURCE/docs/libpmfit.md" | grep -v '^```' >example.c
try() {
	LD_LIBRARY_PATH=$lib "$1" >output || complain "$1 fails"
	grep -q '^C 0.500$' output || complain "$1: $(cat output)"
}
if command -v pkg-config >/dev/null; then
	PKG_CONFIG_PATH=$(dirname "$config")
	export PKG_CONFIG_PATH
	"$CC" -std=c11 -Wall -Werror example.c $(pkg-config --cflags --libs pmfit) -o by_pkg_config
	try ./by_pkg_config
	"$CC" -std=c11 -Wall -Werror example.c $(pkg-config --cflags pmfit) "$lib/libpmfit.a" \
		$(pkg-config --static --libs pmfit | sed 's/-lpmfit//') -o by_pkg_config_static
	try ./by_pkg_config_static
fi
minor=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=\([0-9]*\.[0-9]*\).*/\1/p' "$BUILD/CMakeCache.txt")
cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(example LANGUAGES C)
find_package(pmfit $minor REQUIRED CONFIG)
add_executable(by_cmake example.c)
target_link_libraries(by_cmake PRIVATE pmfit::pmfit)
add_executable(by_cmake_static example.c)
target_link_libraries(by_cmake_static PRIVATE pmfit::pmfit_static)
END
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$BUILD/CMakeCache.txt")
cmake -B build -G "$generator" -DCMAKE_C_COMPILER="$CC" -DCMAKE_PREFIX_PATH="$SCRATCH/prefix" >cmake.log 2>&1 &&
	cmake --build build >>cmake.log 2>&1 || complain "$(tail -n 20 cmake.log)"
try build/by_cmake
try build/by_cmake_static
! ldd build/by_cmake_static | grep pmfit || complain "the static one needs the shared one"
exit $bad
