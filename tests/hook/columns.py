"""The columns SINCE and CALLBACK of pm_hooks.def against the vendor's headers: columns.py PROGRAM FOLDER. Every function of the
driver has its version, under which the header has a type for it; every number of CUPTI's is the call's or its twin's; and every call
of the driver's that gives a device work has its number there or in PM_CUPTI_OTHER_DRIVER_LAUNCHES."""
import os
import re
import subprocess
import sys

program, folder = sys.argv[1:]
bad = []


def header(name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        print(f"{name} is not in {folder}")
        sys.exit(77)
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


types = set(re.findall(r"\bPFN_(\w+)", header("cudaTypedefs.h") + header("cudaProfilerTypedefs.h")))
numbers = {
    library: {int(number): name for name, number in re.findall(rf"CUPTI_{domain}_TRACE_CBID_(\w+)\s*=\s*(\d+)", header(text))}
    for library, domain, text in (
        ("cuda", "DRIVER", "cupti_driver_cbid.h"),
        ("cudart", "RUNTIME", "cupti_runtime_cbid.h"),
    )
}

rows = [line.split() for line in subprocess.check_output([program], text=True).splitlines()]
# the driver's since CUDA 4: the older ones of other parameters have numbers below, and no program calls them
work = re.compile(r"(cu|cuda|__cuda)(Memcpy|Memset|MemPrefetch|GraphLaunch|Launch(Cooperative)?Kernel)")
for library, others, oldest in (("cuda", "other", 249), ("cudart", "other_runtime", 1)):
    launches = {int(number) for row in rows if row[0] in (library, others) for number in row[4:]}
    for number, name in sorted(numbers[library].items()):
        if number in launches and not work.match(name):
            bad.append(f"{name} ({number}) is no work")
        if number not in launches and number >= oldest and work.match(name):
            bad.append(f"{name} ({number}) is nowhere")
rows = [row for row in rows if not row[0].startswith("other")]
twins = {row[2] for row in rows}
for library, name, twin, since, *callbacks in rows:
    if library == "cuda" and name not in twins:
        if since == "0":
            bad.append(f"{name} has no column SINCE")
        elif f"{re.sub(r'_v[0-9]$', '', name)}_v{since}" not in types:
            bad.append(f"{name}: cudaTypedefs.h has nothing of version {since}")
    for number in callbacks:
        known = numbers[library].get(int(number), "nothing")
        # the runtime's end with a version: cudaMemcpy_ptds_v7000
        if known not in (name, twin) and re.sub(r"_v\d+$", "", known) not in (name, twin):
            bad.append(f"{name}: {number} is {known}")

print("\n".join(bad) if bad else f"{len(rows)} rows")
sys.exit(bool(bad))
