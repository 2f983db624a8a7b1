"""Starts ranks as launchers do, each with its number in the environment: launch.py N COMMAND..."""
import os
import subprocess
import sys

count = int(sys.argv[1])
ranks = [
    subprocess.Popen(sys.argv[2:], env=dict(os.environ, RANK=str(i), LOCAL_RANK=str(i), WORLD_SIZE=str(count)))
    for i in range(count)
]
sys.exit(max(rank.wait() for rank in ranks))
