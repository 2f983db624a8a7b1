"""Forks while threads of the interpreter make calls that are described by their Python callers: fork.py LIBRARY COUNT."""
import ctypes
import os
import signal
import sys
import threading

cuda = ctypes.CDLL(sys.argv[1])
cuda.cudaMemsetAsync.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p]
sizes = iter(range(1, 1 << 40))


def work():
    while True:
        cuda.cudaMemsetAsync(None, 0, next(sizes), None)


cuda.cudaMemsetAsync(None, 0, 1 << 40, None)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
waited = other = 0
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        for size in range(5):
            cuda.cudaMemsetAsync(None, 1, size, None)
        with open("data.bin", "rb") as data:
            data.read(100)
        os._exit(5)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    waited += status == -signal.SIGALRM
    other += status not in (5, -signal.SIGALRM)
print(f"{waited} waited, {other} ended otherwise", flush=True)
os._exit(1 if waited or other else 0)
