"""Names of modules of a program that is not touched, as pmanalyze and as the program's hooks have them: they differ in the first part,
for a model may be held by several variables, and in the levels that wrappers add."""
import collections

WRAPPERS = {"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}


def unwrapped(name):
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def split(path):
    root, _, tail = path.partition(".")
    return root, tail


def prefix_of(name, tail):
    """What stands before the tail; None: the name does not end so."""
    if not tail:
        return None
    return "" if name == tail else name[: -len(tail) - 1] if name.endswith("." + tail) else None


def prefixes(paths, names):
    """{what pmanalyze calls a root: the program's name of it}: by the most modules that have their place there."""
    votes = collections.Counter()
    for path in paths:
        root, tail = split(path)
        for name in names:
            prefix = prefix_of(name, tail)
            if prefix is not None:
                votes[prefix, root] += 1
    found = {}
    for (prefix, root), _ in sorted(votes.items(), key=lambda v: (-v[1], v[0][0] != v[0][1], len(v[0][0]))):
        if prefix not in found and root not in found.values():
            found[prefix] = root
    return found


def renamer(paths, names):
    """A function from pmanalyze's names to the program's."""
    paths, names = {unwrapped(path) for path in paths}, {unwrapped(name) for name in names if name}
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
