"""Runs a program in a folder of its own: in_folder.py FOLDER PROGRAM [ARGUMENT]..."""
import os
import runpy
import sys

folder, program = sys.argv[1], os.path.abspath(sys.argv[2])
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
sys.argv = [program] + sys.argv[3:]
sys.path[0] = os.path.dirname(program)
runpy.run_path(program, run_name="__main__")
