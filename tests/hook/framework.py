"""Prints the ranges of a trace: framework.py TRACE. Of each thread that has some a line, then one for each range, indented by how
deep it lies: scope, name, sequence number (-: none), thread. With --notes what the trace says of PyTorch instead."""
import struct
import sys

DICTIONARY, RECORDS, STRING, NOTE, RANGE = 1, 2, 4, 7, 19
SCOPES = {1: "op", 2: "node", 3: "user", 4: "nvtx"}


def chunks(data):
    at, head = struct.unpack_from("<II", data, 16)
    while at + head <= len(data):
        magic, size, used, kind, _, thread = struct.unpack_from("<IIIHHI", data, at)
        if magic != 0x4B4E4843:
            return
        yield kind, thread, data[at + head:at + (head + used if kind == DICTIONARY else size)]
        at += size


def entries(body):
    at = 0
    while at + 8 <= len(body):
        size, kind = struct.unpack_from("<IH", body, at)
        yield kind, body[at + 8:at + size]
        at += size


def read(path):
    """Numbered strings, ranges as their entries' fields, notes; of each thread its slots of ranges in order."""
    with open(path, "rb") as file:
        data = file.read()
    strings, ranges, notes, threads = {}, {}, [], {}
    for kind, thread, body in chunks(data):
        if kind == DICTIONARY:
            for entry, content in entries(body):
                if entry == STRING:
                    strings[struct.unpack_from("<I", content)[0]] = content[4:].split(b"\0")[0].decode()
                elif entry == RANGE:
                    number, scope, _, name, domain, module, line, _ = struct.unpack_from("<IHHIIIII", content)
                    ranges[number] = scope, name, domain, module, line
                elif entry == NOTE:
                    notes.append(content.split(b"\0")[0].decode())
        elif kind == RECORDS:
            for at in range(0, len(body) - 15, 16):
                if body[at + 14] == 0:
                    break
                if body[at + 14] == 6:
                    threads.setdefault(thread, []).append(struct.unpack_from("<IIIHBB", body, at)[1:4])
    return strings, ranges, notes, threads


def main():
    strings, ranges, notes, threads = read(sys.argv[-1])
    if sys.argv[1] == "--notes":
        print(*(note for note in notes if note.startswith("pytorch:")), sep="\n")
        return
    for thread in sorted(threads):
        print("thread", thread)
        depth = 0
        for number, sequence, of_thread in threads[thread]:
            if number:
                scope, name, *_ = ranges[number]
                print(" " * depth + SCOPES[scope], strings[name], "-" if sequence == 0xFFFFFFFF else sequence, of_thread)
            depth += 1 if number else -1


if __name__ == "__main__":
    main()
