/*
 * For checkers of threads that run the program (valgrind's helgrind): our memory is shared by rules of our
 * own, with atomics that they take for plain stores. It is left out, so that what they report is the
 * program's.
 */
#ifndef UNCHECKED_H
#define UNCHECKED_H

#if __has_include(<valgrind/helgrind.h>)
#include <valgrind/helgrind.h>
#define PMH_UNCHECKED(address, byte_count) VALGRIND_HG_DISABLE_CHECKING(address, byte_count)
#define PMH_HAS_CHECKER RUNNING_ON_VALGRIND
#else
#define PMH_UNCHECKED(address, byte_count) ((void)(address), (void)(byte_count))
#define PMH_HAS_CHECKER 0
#endif

#endif
