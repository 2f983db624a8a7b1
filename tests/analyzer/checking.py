"""For scripts that check many things: check() prints what is wrong as it is found, verdict() how much that was."""
_wrong = 0


def check(condition, sentence):
    global _wrong
    if not condition:
        print(f"wrong: {sentence}")
        _wrong += 1


def verdict(name):
    """The last line of the output. Whether anything was wrong: the exit status."""
    print(f"{name}: " + (f"{_wrong} wrong" if _wrong else "all right"))
    return _wrong > 0
