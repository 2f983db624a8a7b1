/* Of the report's script (README.md): how the timeline is drawn. A frame costs by the events in its window.
 * `read_colours` and `draw_soon` are what script_timeline.js asks for. */
class DrawnTimeline extends Timeline {
	read_colours() {
		const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue("--" + name).trim();
		const colour_of = key => as_hex(colour(key === "wait" ? "communication" : key) || colour("grey"));

		this.colours = this.phases.map(([key]) => colour_of(key));
		this.wait = this.phases.findIndex(([key]) => key === "wait");
		this.inks = this.colours.map(ink_on);
		this.own = this.names.map(name => name && name[5] ? {colour: name[5], ink: ink_on(name[5])} : null);
		this.hatch = hatch(this.colours[this.wait], colour("bg"));
		this.widths = new Map();
		this.map.dirty = true;
		this.line = colour("line");
		this.text = colour("fg");
		this.dim = colour("dim");
	}

	draw_soon() {
		if (this.pending || !this.in_sight)
			return;
		this.pending = true;
		requestAnimationFrame(() => {
			this.pending = false;
			this.draw();
		});
	}

	draw() {
		const began = performance.now();

		if (!this.colours)
			this.read_colours();
		this.draw_axis();
		this.map.draw();
		this.ranks.forEach((rank, i) => rank.visible && this.draw_rank(rank, i));
		this.view.dataset.frame = (performance.now() - began).toFixed(2);
	}

	canvas_of(canvas, height) {
		const scale = devicePixelRatio || 1, wide = canvas.clientWidth, context = canvas.getContext("2d");

		if (canvas.width !== Math.round(wide * scale) || canvas.height !== Math.round(height * scale)) {
			canvas.width = Math.round(wide * scale);
			canvas.height = Math.round(height * scale);
		}
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, wide, height);
		return [context, wide];
	}

	/* Distance of the lines, 1, 2 or 5 times a power of ten, so that labels do not touch. */
	grid(wide) {
		const least = (this.to - this.from) / Math.max(wide / 80, 1), power = 10 ** Math.floor(Math.log10(least));

		return power * (least / power > 5 ? 10 : least / power > 2 ? 5 : least / power > 1 ? 2 : 1);
	}

	draw_axis() {
		const [context, wide] = this.canvas_of(this.axis, 18), step = this.grid(this.axis.clientWidth), scale = wide / (this.to - this.from);

		context.fillStyle = this.dim;
		context.font = "11px system-ui, sans-serif";
		for (let time = Math.ceil(this.from / step) * step; time < this.to; time += step) {
			context.fillRect((time - this.from) * scale, 13, 1, 5);
			if ((time - this.from) * scale < wide - 60)
				context.fillText(ruler_text(time, step, Math.max(this.to, -this.from)), (time - this.from) * scale + 3, 12);
		}
	}

	draw_rank(rank, number) {
		const [context, wide] = this.canvas_of(rank.canvas, rank.height), scale = wide / (this.to - this.from);

		context.strokeStyle = this.text;
		context.setLineDash([3, 2]);
		context.beginPath();
		for (const edge of rank.steps)
			if (edge >= this.from && edge <= this.to) {
				context.moveTo(Math.round((edge - this.from) * scale) + 0.5, 0);
				context.lineTo(Math.round((edge - this.from) * scale) + 0.5, rank.height);
			}
		context.lineWidth = 1;
		context.stroke();
		context.setLineDash([]);
		rank.lanes.forEach((lane, place) => {
			if (rank.folded && place < this.device)
				return;
			const top = rank.folded ? 1 : place * (LANE_HEIGHT + 1) + 1, high = rank.folded ? FOLDED_HEIGHT - 2 : LANE_HEIGHT - 1;

			context.globalAlpha = rank.found ? 0.2 : 1;
			this.draw_lane(context, lane, top, high, wide, this.from, this.to);
			context.globalAlpha = 1;
			if (rank.found)
				this.draw_lane(context, rank.found[place], top, high, wide, this.from, this.to);
		});
		if (number === this.rank) {
			context.fillStyle = this.text;
			context.fillRect(0, 0, 2, rank.height);
		}
		if (this.selected && this.selected.rank === number) {
			const lane = rank.lanes[this.selected.lane], i = this.selected.i, left = (lane.start[i] - this.from) * scale;
			const top = rank.folded ? 0 : this.selected.lane * (LANE_HEIGHT + 1);

			context.strokeStyle = this.text;
			context.lineWidth = 2;
			context.strokeRect(left - 1, top + 0.5, Math.max((lane.end[i] - lane.start[i]) * scale, 1) + 2, LANE_HEIGHT);
		}
	}

	/* Events narrower than a pixel are not drawn one by one: the longest of those that start in it has the pixel. */
	draw_lane(context, lane, top, high, wide, from, to) {
		const {start, end, name, count} = lane;
		const pixel = (to - from) / wide;

		for (let i = first_above(lane.reach, from, 0); i < count && start[i] < to;) {
			const left = Math.max((start[i] - from) / pixel, -1), right = Math.min((end[i] - from) / pixel, wide + 1);

			if (right - left >= 1) {
				this.paint(context, name[i], left, top, right - left, high);
				i++;
				continue;
			}
			const next = from + (Math.floor(left) + 1) * pixel;
			let longest = i;

			for (i++; i < count && start[i] < next && end[i] - start[i] < pixel; i++)
				if (end[i] - start[i] > end[longest] - start[longest])
					longest = i;
			this.paint(context, name[longest], Math.floor(left), top, 1, high);
		}
	}

	/* A range that the program gave a colour has it; all others have the colour of their kind. */
	paint(context, number, left, top, wide, high) {
		const kind = this.kinds[number], own = this.own[number];

		context.fillStyle = kind === this.wait ? this.hatch : own ? own.colour : this.colours[kind];
		context.fillRect(left, top, wide, high);
		if (this.nameless || kind === this.wait || wide < 24 || high < 10)
			return;
		const [, kernel, layer] = this.names[number], from = Math.max(left, 0) + 3;

		context.font = "10px system-ui, sans-serif";
		context.fillStyle = own ? own.ink : this.inks[kind];
		context.fillText(this.fitting(context, [kernel && layer ? kernel + " · " + layer : "", kernel || layer], !kernel,
			left + wide - from - 3), from, top + high - 4);
	}

	/* The first of the texts that fits, or what does of the last: its end, which tells modules apart, or its start. */
	fitting(context, texts, of_end, room) {
		const width = text => {
			if (!this.widths.has(text))
				this.widths.set(text, context.measureText(text).width);
			return this.widths.get(text);
		};
		const found = texts.find(text => text && width(text) <= room), last = texts[texts.length - 1];

		if (found)
			return found;
		const fits = Math.floor(last.length * room / width(last)) - 2;

		return fits < 2 ? "" : of_end ? "…" + last.slice(-fits) : last.slice(0, fits) + "…";
	}
}

/* As "#rrggbb". */
function as_hex(colour) {
	const context = make("canvas").getContext("2d");

	context.fillStyle = colour;
	return context.fillStyle;
}

/* The text on a colour, "#rrggbb": whichever of black and white differs more from it (WCAG's relative luminance). */
function ink_on(colour) {
	const [red, green, blue] = [1, 3, 5].map(at => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);

	return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#111" : "#fff";
}

/* Lines across, as the legend has them. */
function hatch(colour, ground) {
	const tile = make("canvas", {width: 6, height: 6}), context = tile.getContext("2d");

	context.fillStyle = ground;
	context.fillRect(0, 0, 6, 6);
	context.strokeStyle = colour;
	context.lineWidth = 1.5;
	for (const [x, y] of [[-1, 7], [-1, 1], [5, 7]]) {
		context.moveTo(x, y);
		context.lineTo(x + (y === 7 && x < 0 ? 8 : 2), y - (y === 7 && x < 0 ? 8 : 2));
	}
	context.stroke();
	return context.createPattern(tile, "repeat");
}
