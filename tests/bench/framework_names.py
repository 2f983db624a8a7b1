"""Names of modules of a program that is not touched, as pmanalyze and as the program's hooks have them: they differ in the first part,
for a model may be held by several variables, and in the levels that wrappers add."""
import collections

WRAPPERS = {"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}


def unwrapped(name):
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def prefix_of(name, tail):
    """What stands before the tail; None: the name does not end so."""
    return "" if name == tail else name[: -len(tail) - 1] if name.endswith("." + tail) else None


def vote(paths, names, depth, found):
    """Adds to found what pmanalyze calls the first parts of a path, so many."""
    votes = collections.Counter()
    for path, time in paths.items():
        root, tail = ".".join(path.split(".")[:depth]), ".".join(path.split(".")[depth:])
        for name in names if tail else ():
            prefix = prefix_of(name, tail)
            if prefix is not None:
                votes[prefix, root] += time
    for (prefix, root), _ in sorted(votes.items(), key=lambda v: (-v[1], v[0][0] != v[0][1], len(v[0][0]))):
        if prefix not in found and root not in found.values():
            found[prefix] = root


def prefixes(paths, names):
    """{what pmanalyze calls a root: the program's name of it}: by the most time of modules that have their place there, for of a model and its copy,
    which has the same modules, the one trains. A model that another holds beside its copy may have its own name."""
    found = {}
    vote(paths, names, 1, found)
    vote({path: time for path, time in paths.items() if path.split(".")[0] not in found.values()}, names, 2, found)
    return found


def renamer(paths, names):
    """A function from pmanalyze's names to the program's, of which the time is given."""
    paths, names = {unwrapped(path): time for path, time in paths.items()}, {unwrapped(name) for name in names if name}
    roots = prefixes(paths, names)

    def rename(name):
        name = unwrapped(name or "")
        if name in paths or not name:
            return name
        for prefix in sorted(roots, key=len, reverse=True):
            if not prefix:
                return roots[prefix] + "." + name
            if name == prefix or name.startswith(prefix + "."):
                return roots[prefix] + name[len(prefix):]
        return name

    return rename
