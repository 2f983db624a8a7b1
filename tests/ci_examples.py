#!/usr/bin/env python3
"""ci_examples.py BUILD PAGE: the jobs of docs/ci.md for GitHub and GitLab run as they are written, in a repository with a training
on softgpu: a change that does not touch the speed is not called slower, one that makes a layer slower fails."""
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("no PyYAML (package python3-yaml)")
    sys.exit(77)
if not shutil.which("git"):
    print("no git")
    sys.exit(77)
if os.environ.get("PM_SANITIZE"):
    print("the trainers are tested under sanitizers elsewhere")
    sys.exit(77)
build, page = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
SLOWER = "SOFTGPU_DISTURB='layer=fc1 slow=3'"
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
bad = 0


def example(title):
    """The indented block after a heading."""
    lines = open(page, encoding="utf-8").read().split(f"## {title}\n", 1)[1].splitlines()
    block = []
    for line in lines[1:]:
        if line and not line.startswith("    "):
            break
        block.append(line[4:])
    return yaml.safe_load("\n".join(block))


def train(prefix=""):
    return f"#!/bin/sh\n{prefix} exec {build}/bin/train_mlp --synthetic --batch 256 --iterations 30 --print 0\n"


def git(*arguments, **options):
    subprocess.run(["git", "-c", "user.name=ci", "-c", "user.email=ci@example.org", *arguments], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def commit(text):
    with open("origin/train.sh", "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod("origin/train.sh", 0o755)
    git("add", "train.sh", cwd="origin")
    git("commit", "--allow-empty", "-m", "a change", cwd="origin")


# The runner has a GPU; here softgpu's.
os.mkdir("bin")
with open("bin/pmrun", "w", encoding="utf-8") as file:
    file.write(f'#!/bin/sh\nwhile [ "$1" != -- ]; do options="$options $1"; shift; done; shift\n'
               f'exec {build}/bin/pmrun -q $options --softgpu=v100 -- "$@"\n')
os.chmod("bin/pmrun", 0o755)
os.symlink(f"{build}/bin/pmanalyze", "bin/pmanalyze")
git("init", "-b", "main", "origin")
commit(train())
git("checkout", "-b", "same", cwd="origin")
commit(train("# nothing else\n"))
git("checkout", "-b", "slow", "main", cwd="origin")
commit(train(SLOWER))
git("checkout", "main", cwd="origin")
github = [step["run"] for step in example("GitHub Actions")["jobs"]["speed"]["steps"] if "run" in step]
gitlab = example("GitLab")["speed"]["script"]
for host, scripts in ("github", ["\n".join(github)]), ("gitlab", ["\n".join(gitlab)]):
    for branch, right in ("same", (0, 4)), ("slow", (3,)):
        folder = f"{host}.{branch}"
        git("clone", "-b", branch, "origin", folder)
        os.mkdir(f"{folder}.temp")
        place = os.path.realpath(folder)
        variables = {"PATH": os.path.realpath("bin") + ":" + os.environ["PATH"], "RUNNER_TEMP": place + ".temp",
                     "GITHUB_BASE_REF": "main", "GITHUB_WORKSPACE": place, "CI_PROJECT_DIR": place,
                     "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "TMPDIR": place + ".temp"}
        # A host that is not shared judges step time too, and three runs may leave that open. Both end a job with the first command that fails
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", scripts[0]], cwd=folder, env=os.environ | variables,
                              capture_output=True, text=True)
        if done.returncode not in right:
            print(f"not ok {folder}: status {done.returncode}, expected {right}: {done.stdout[-800:]}{done.stderr[-1500:]}")
            bad = 1
sys.exit(bad)
