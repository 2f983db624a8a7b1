"""Who includes whom: check_layers.py SOURCE. A file includes headers of its own folder by their names, and of folders
that stand before its own in the list below by their paths from the component's folder. So `ls` and the includes show the way of
the data, and no lower layer knows of a higher one. Each folder has a README.md of a few lines. A comment that says "see
NAME.h" names a file that there is."""
import os
import re
import sys

# The folders of each component, lowest first; "." is the component's own.
LAYERS = {
    "preload": [".", "guest", "trace", "python", "describe", "device", "call", "framework", "files", "core", "pmrun"],
    "analyzer": ["base", "trace", "timeline", "framework", "import", "reconstruct", "analyses", "analyses/replay", "analyses/cause",
                 "analyses/slowdown", "analyses/finding", "analyses/hang", "analyses/ssgd", "analyses/compare", "analyses/roofline", "analyses/summary", "analyses/fleet", "output",
                 "output/export", "output/html", "cmds", "."],
    "fitter": ["base", "expression", "model", "search", "fit", "data", "step", "baselines", "transfer", "sweep", "strategy", "advise", "compare", "export", "output",
               "study", "cmds", "."],
    "testapps/softgpu": [
        "include", "core", "absent", "kernels", "calls", "cudart", "cuda", "cublas", "cublaslt", "cusparse", "cudnn", "nccl", "cupti", "nvml", "nvrtc", "older", "slowinput", "preload", "fit", "tests",
    ],
    "testapps/trainers": ["."],
}

# Headers of other components, by the one, or the folder of it, that uses them.
OUTSIDE = {
    "preload/pmrun": r"base/(help|option)\.h|trace/trace_(live|name)\.h",
    "analyzer": r"pm_format\.h",
    "analyzer/trace": r"pm_format\.h|pm_hooks\.(h|def)",
    "fitter": r"base/\w+\.h",
    "testapps/softgpu": r"pm_\w+\.(h|def)|softgpu_api\.h",
    "testapps/softgpu/preload": r"statuses\.def",  # made by CMake
}

# The interface of a component as a library, at its root: all of its folders include it.
INTERFACE = {"fitter": "pm_fit.h"}

SEE = re.compile(r"\b[Ss]ee (?:\w+/)*(\w+\.[ch])\b")
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
source = sys.argv[1]
complaints = []


def folders(component):
    for folder, _, names in os.walk(os.path.join(source, component)):
        inner = os.path.relpath(folder, os.path.join(source, component))
        if any(name.endswith((".c", ".h", ".inc")) for name in names):
            yield inner, [name for name in names if name.endswith((".c", ".h", ".inc", ".def"))]


def layer_of(header, component, inner):
    """The folder that a header comes from, None for another component's."""
    if "/" not in header and os.path.exists(os.path.join(source, component, inner, header)):
        return inner
    if os.path.exists(os.path.join(source, component, header)):
        return os.path.dirname(header) or "."
    return None


everywhere = {name for component in LAYERS for _, names in folders(component) for name in names}
for component, order in LAYERS.items():
    found = dict(folders(component))
    for inner in sorted(set(order) - set(found)):
        complaints.append(f"{component}: no folder {inner}, which the list of layers has")
    for inner, names in sorted(found.items()):
        if inner not in order:
            complaints.append(f"{component}/{inner} is not in the list of layers")
            continue
        if inner != "." and not os.path.exists(os.path.join(source, component, inner, "README.md")):
            complaints.append(f"{component}/{inner} has no README.md")
        for name in names:
            path = os.path.normpath(os.path.join(component, inner, name))
            with open(os.path.join(source, path), encoding="utf-8") as file:
                text = file.read()
            for name in set(SEE.findall(text)) - everywhere:
                complaints.append(f"{path} says to see {name}, which there is not")
            headers = INCLUDE.findall(text)
            for header in headers:
                if header == INTERFACE.get(component):
                    continue
                at = layer_of(header, component, inner)
                if at is None:
                    if not re.fullmatch(OUTSIDE.get(f"{component}/{inner}", OUTSIDE.get(component, "(?!)")), header):
                        complaints.append(f"{path} includes {header}, which is not {component}'s")
                elif at not in order or order.index(at) > order.index(inner):
                    complaints.append(f"{path} includes {header}: {at} is above {inner}")

for complaint in complaints:
    print(complaint)
sys.exit(bool(complaints))
