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

/* The numbers of events.c, into arrays of each lane in order of start. `reach` is the latest end up to an event. */
function read_events(text, lane_count) {
	const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
	const lanes = Array.from({length: lane_count}, () => []);
	let at = 0, start = 0;

	function next() {
		let value = 0, scale = 1, byte;

		do {
			byte = bytes[at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte & 128);
		return value;
	}
	while (at < bytes.length) {
		const name = next(), later = next();

		start += (later % 2 ? -1 : 1) * Math.floor(later / 2);
		lanes[name % lane_count].push([start, start + next(), Math.floor(name / lane_count)]);
	}
	return lanes.map(lane_of);
}

function lane_of(events) {
	const lane = {
		count: events.length,
		start: new Float64Array(events.length),
		end: new Float64Array(events.length),
		reach: new Float64Array(events.length),
		name: new Uint32Array(events.length),
	};
	let reach = -Infinity;

	events.sort((a, b) => a[0] - b[0]);
	events.forEach((event, i) => {
		[lane.start[i], lane.end[i], lane.name[i]] = event;
		reach = lane.reach[i] = Math.max(reach, event[1]);
	});
	return lane;
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
	const events = [];

	for (let i = 0; i < lane.count; i++)
		if (matches[lane.name[i]])
			events.push([lane.start[i], lane.end[i], lane.name[i]]);
	return lane_of(events);
}
