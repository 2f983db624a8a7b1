"""Prints what a launch costs in ns: python_cost.py LIBRARY, in the first thread, and in another."""
import ctypes
import sys
import threading

library = ctypes.PyDLL(sys.argv[1])
library.launch_ns.restype = ctypes.c_double


def nested(depth):
    return library.launch_ns() if depth == 0 else nested(depth - 1)


print('%.1f' % nested(20))
other = threading.Thread(target=lambda: print('%.1f' % nested(20)))
other.start()
other.join()
