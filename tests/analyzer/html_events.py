"""The events of a page's timeline, decoded as analyzer/output/html/events.c describes them."""
import base64
import json
import xml.etree.ElementTree as tree


def numbers(text):
    value = shift = 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            yield value
            value = shift = 0


def decode(data, rank):
    """Of a rank: (lane, start, end, phase, kernel or call, layer) of each event, in ns."""
    events, titles, last = [], [], ""
    for title in data["lanes"]:
        last = title or last
        titles.append(last)
    for title, (count, start, text) in zip(titles, rank["lanes"], strict=True):
        stream = list(numbers(text))
        assert len(stream) == 3 * count, f"{len(stream)} numbers of {count} events"
        for number, later, duration in zip(*[iter(stream)] * 3):
            name = data["names"][number]
            start += later
            events.append((title, start, start + duration, data["phases"][name[0]][0], name[1], name[2]))
    return events


def of_page(text):
    """{rank: its events} of the first run of a page."""
    script = next(item for item in tree.fromstring(text).iter("script") if item.get("class") == "events")
    data = json.loads("".join(script.itertext()))
    return {rank["name"]: decode(data, rank) for rank in data["ranks"]}
