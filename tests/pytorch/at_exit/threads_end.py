"""What README.md says: the interpreter's lock is free for a while before the interpreter is finalized."""
import atexit
import time

atexit.register(time.sleep, 0.05)
