#!/usr/bin/env python3
"""What a release is made of, as SPDX 2.3 JSON: the libraries of Debian that are linked into its programs, with their versions.

usage: sbom.py VERSION COMMIT SECONDS
"""
import json
import subprocess
import sys
from datetime import datetime, timezone
from urllib.parse import quote

# the package that is linked or shipped, and the licence of what is taken from it
LINKED = {
    "libcjson1": "MIT",
    "libsqlite3-dev": "blessing",
    "zlib1g-dev": "Zlib",
    "libsvm-dev": "BSD-3-Clause",
}


def package(name, version, licence, source, repository=None):
    described = {
        "SPDXID": "SPDXRef-" + name,
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "sourceInfo": source,
    }
    # by which scanners find what is known against it
    if repository:
        locator = f"pkg:{repository}/{name}@{quote(version, safe='.~')}"
        described["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
        ]
    return described


def main():
    version, commit, seconds = sys.argv[1:]
    packages = [package("pmhook", version, "Apache-2.0", "commit " + commit)]
    for name, licence in LINKED.items():
        found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True)
        packages.append(package(name, found.stdout, licence, "Debian package", "deb/debian"))
    for line in open(__file__.replace("sbom.py", "requirements.txt")):
        name, _, pinned = line.strip().partition("==")
        if name == "ziglang":
            # its own runtime, and LLVM's libc++, libc++abi and libunwind
            licence = "MIT AND Apache-2.0 WITH LLVM-exception"
            packages.append(package("ziglang", pinned, licence, "PyPI; compiler, C++ and compiler runtime", "pypi"))
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-pmhook"}]
    relations += [
        {"spdxElementId": "SPDXRef-pmhook", "relationshipType": "STATIC_LINK", "relatedSpdxElement": each["SPDXID"]}
        for each in packages[1:]
    ]
    relations[1]["relationshipType"] = "DYNAMIC_LINK"
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "pmhook-" + version,
        "documentNamespace": f"https://spdx.org/spdxdocs/pmhook-{version}-{commit}",
        "creationInfo": {
            "created": datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: .ci/release/sbom.py"],
        },
        "packages": packages,
        "relationships": relations,
    }
    print(json.dumps(document, indent=1))


main()
