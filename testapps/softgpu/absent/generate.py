"""The lists of functions that programs ask for and softgpu does not have: generate.py SOFTGPU [--write] LIBRARY...

SOFTGPU is the folder of softgpu's built libraries; each LIBRARY is a program's library that is bound to CUDA's (those of PyTorch, for
example: torch/lib/*.so, torch/_C*.so, torchvision/*.so). Without --write prints what is missing, and exits with 1 if anything is; with
it adds that to the lists beside this file (NAME.def; NAME_VERSION.def for what an older CUDA has with other parameters), from which functions.c
makes functions that say "not supported", and takes out what softgpu has meanwhile."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# name of the list, library, names that are its
LIBRARIES = [
    ("cublasLt", "libcublasLt.so.13", r"cublasLt"),
    ("cublas", "libcublas.so.13", r"cublas"),
    ("cudnn", "libcudnn.so.9", r"cudnn"),
    ("cudart", "libcudart.so.13", r"(__)?cuda[A-Z]"),
    ("nccl", "libnccl.so.2", r"nccl[A-Z]"),
    ("cupti", "libcupti.so.13", r"cupti"),
    ("cusparseLt", "libcusparseLt.so.0", r"cusparseLt"),
    ("cusparse", "libcusparse.so.12", r"cusparse"),
    ("cusolver", "libcusolver.so.12", r"cusolver"),
    ("cufft", "libcufft.so.12", r"cufft"),
    ("cufile", "libcufile.so.0", r"cuFile"),
    ("nvshmem_host", "libnvshmem_host.so.3", r"nvshmem"),
    ("nvrtc", "libnvrtc.so.13", r"nvrtc"),
    ("nvToolsExt", "libnvToolsExt.so.1", r"nvtx"),
    ("cuda", "libcuda.so.1", r"cu[A-Z]"),
]
# The libraries of an older CUDA that have lists of their own: what older/NAME.not says is not handed on to the newest.
OLDER = {"libcudart.so.12": "cudart_12"}
# Functions whose result is not a status: what they answer instead.
TEXTS = r"(cusparse|cusparseLt|nvrtc)(Get)?Error(String|Name)|cuptiGetErrorMessage"
RESULTS = [(r"cuFile(Read|Write)", "-1"), (r"nvshmem_(malloc|ptr)|nvshmemx_mc_ptr", "0")]
MOST = 20  # complaints printed
HEAD = """/* Functions of {library} that programs ask for and softgpu does not have. Written by generate.py, which says from what. */
"""


def symbols(path, kind, types=""):
    """Names of a library's dynamic symbols (of those types) with their versions: {name: version or None}."""
    out = subprocess.run(["nm", "-D", kind, path], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.splitlines():
        if types and line.split()[-2] not in types:
            continue
        name, _, version = line.split()[-1].replace("@@", "@").partition("@")
        found[name] = version or None
    return found


def list_of(name):
    return {row[1]: row[0] for row in re.findall(r"^(SG_ABSENT\w*)\((\w+)", read(name), re.MULTILINE)}


def read(name):
    path = os.path.join(HERE, name + ".def")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def row(function):
    if re.fullmatch(TEXTS, function):
        return f"SG_ABSENT_TEXT({function})"
    for pattern, result in RESULTS:
        if re.fullmatch(pattern, function):
            return f"SG_ABSENT_AS({function}, {result})"
    return f"SG_ABSENT({function})"


def changed(name):
    """Functions of which an older CUDA's library does not hand on the newest one's."""
    path = os.path.join(HERE, "..", "older", name + ".not")
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {line.strip() for line in file if line[0] not in "#+"}


def write(name, library, functions):
    with open(os.path.join(HERE, name + ".def"), "w", encoding="utf-8") as file:
        file.write(HEAD.format(library=library))
        file.writelines(row(function) + "\n" for function in sorted(functions))


def main():
    folder, arguments = sys.argv[1], sys.argv[2:]
    writing = "--write" in arguments
    asked = {name: {} for name, _, _ in LIBRARIES}
    for path in arguments:
        if path == "--write":
            continue
        for function, version in symbols(path, "--undefined-only").items():
            for name, _, pattern in LIBRARIES:
                if re.match(pattern, function):
                    asked[name].setdefault((function, version), path)
                    break
    complaints = []
    built = {}

    def have_of(library, types=""):
        path = os.path.join(folder, library)
        if (library, types) not in built:
            built[library, types] = symbols(path, "--defined-only", types) if os.path.exists(path) else {}
        return built[library, types]

    for name, newest, _ in LIBRARIES:
        missing = {newest: set(), **{library: set() for library, own in OLDER.items() if own.startswith(name + "_")}}
        for (function, version), path in sorted(asked[name].items(), key=str):
            # programs of an older CUDA ask for its version: the library of that name hands on what the newest has
            library = version if version and have_of(version) else newest
            have = have_of(library)
            if function not in have:
                complaints.append(f"{library} has no {function}, which {os.path.basename(path)} asks for")
                missing[library if library in missing and function in changed(name) else newest].add(function)
            elif version is not None and version != have[function]:
                complaints.append(f"{library}: {function} is of version {have[function]}, {os.path.basename(path)} asks for {version}")
        for library, functions in missing.items():
            own = OLDER.get(library, name)
            # what comes from a list is weak
            listed = functions | set(list_of(own)) - set(have_of(library, "Ti"))
            if writing and (listed or read(own)):
                write(own, library, listed)
    if writing:
        return 0
    for complaint in complaints[:MOST]:
        print(complaint)
    print(f"{sum(map(len, asked.values()))} functions asked for, {len(complaints)} missing")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
