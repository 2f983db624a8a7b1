/* Of the report's script (README.md): the events that events.c writes, as arrays that are searched by time. */
function time_text(ns) {
	const size = Math.abs(ns);
	const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "us"] : [1, "ns"];

	return (ns / unit).toFixed(unit === 1 ? 0 : 3) + " " + name;
}

/* The label of a ruler with lines so far apart: as few digits as tell them apart. */
function ruler_text(ns, step, longest) {
	const [unit, name] = longest >= 1e9 ? [1e9, "s"] : longest >= 1e6 ? [1e6, "ms"] : longest >= 1e3 ? [1e3, "us"] : [1, "ns"];
	const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));

	return (ns / unit).toFixed(digits) + " " + name;
}

/* A lane of events.c as arrays in order of start; `reach` is the latest end up to an event. */
function read_lane([count, first, text]) {
	const bytes = atob(text), lane = empty_lane(count);
	let at = 0, start = first, reach = -Infinity;

	function next() {
		let value = 0, scale = 1, byte;

		do {
			byte = bytes.charCodeAt(at++);
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte & 128);
		return value;
	}
	for (let i = 0; i < count; i++) {
		lane.name[i] = next();
		lane.start[i] = start += next();
		lane.end[i] = start + next();
		lane.reach[i] = reach = Math.max(reach, lane.end[i]);
	}
	return lane;
}

function empty_lane(count) {
	return {
		count,
		start: new Float64Array(count),
		end: new Float64Array(count),
		reach: new Float64Array(count),
		name: new Uint32Array(count),
	};
}

/* The first of an ascending array, from `from` on, that is greater than the value. */
function first_above(array, value, from) {
	let low = from, high = array.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (array[middle] > value)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Those events of a lane whose names match, as a lane. */
function part_of(lane, matches) {
	let count = 0, reach = -Infinity;

	for (let i = 0; i < lane.count; i++)
		count += matches[lane.name[i]] ? 1 : 0;
	const part = empty_lane(count);

	for (let i = 0, to = 0; i < lane.count; i++)
		if (matches[lane.name[i]]) {
			part.start[to] = lane.start[i];
			part.end[to] = lane.end[i];
			part.name[to] = lane.name[i];
			part.reach[to++] = reach = Math.max(reach, lane.end[i]);
		}
	return part;
}
