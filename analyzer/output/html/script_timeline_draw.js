/* Of the report's script (README.md): how the timeline is drawn. A frame costs by the events in its window.
 * `read_colours` and `draw_soon` are what script_timeline.js asks for. */
class DrawnTimeline extends Timeline {
	read_colours() {
		const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue("--" + name).trim();

		this.colours = this.phases.map(([key]) => colour(key === "wait" ? "communication" : key) || colour("grey"));
		this.wait = this.phases.findIndex(([key]) => key === "wait");
		this.line = colour("line");
		this.text = colour("fg");
		this.dim = colour("dim");
	}

	draw_soon() {
		if (this.pending)
			return;
		this.pending = true;
		requestAnimationFrame(() => {
			this.pending = false;
			this.draw();
		});
	}

	draw() {
		const began = performance.now();

		this.draw_axis();
		this.ranks.forEach((rank, i) => rank.visible && this.draw_rank(rank, i));
		this.view.dataset.from = this.from;
		this.view.dataset.to = this.to;
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

	/* Distance of the lines: 1, 2 or 5 times a power of ten. */
	grid() {
		const wide = this.to - this.from, power = 10 ** Math.floor(Math.log10(wide / 5));

		return wide / power > 20 ? 5 * power : wide / power > 10 ? 2 * power : power;
	}

	draw_axis() {
		const [context, wide] = this.canvas_of(this.axis, 18), step = this.grid(), scale = wide / (this.to - this.from);

		context.fillStyle = this.dim;
		context.font = "11px system-ui, sans-serif";
		for (let time = Math.ceil(this.from / step) * step; time < this.to; time += step) {
			context.fillRect((time - this.from) * scale, 13, 1, 5);
			if ((time - this.from) * scale < wide - 60)
				context.fillText(time_text(time), (time - this.from) * scale + 3, 12);
		}
	}

	draw_rank(rank, number) {
		const [context, wide] = this.canvas_of(rank.canvas, rank.height), scale = wide / (this.to - this.from);

		context.fillStyle = this.line;
		for (const edge of rank.steps)
			context.fillRect(Math.round((edge - this.from) * scale), 0, 1, rank.height);
		rank.lanes.forEach((lane, place) => {
			const top = rank.folded ? 1 : place * (LANE_HEIGHT + 1) + 1, high = rank.folded ? FOLDED_HEIGHT - 2 : LANE_HEIGHT - 1;

			context.globalAlpha = rank.found ? 0.2 : 1;
			this.draw_lane(context, lane, top, high, wide);
			context.globalAlpha = 1;
			if (rank.found)
				this.draw_lane(context, rank.found[place], top, high, wide);
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
	draw_lane(context, lane, top, high, wide) {
		const {start, end, name, count} = lane, kinds = this.kinds, from = this.from, to = this.to;
		const pixel = (to - from) / wide;

		for (let i = first_above(lane.reach, from, 0); i < count && start[i] < to;) {
			const left = Math.max((start[i] - from) / pixel, -1), right = Math.min((end[i] - from) / pixel, wide + 1);

			if (right - left >= 1) {
				this.paint(context, kinds[name[i]], left, top, right - left, high, lane, i);
				i++;
				continue;
			}
			const next = from + (Math.floor(left) + 1) * pixel;
			let longest = i;

			for (i++; i < count && start[i] < next && end[i] - start[i] < pixel; i++)
				if (end[i] - start[i] > end[longest] - start[longest])
					longest = i;
			this.paint(context, kinds[name[longest]], Math.floor(left), top, 1, high, null, 0);
		}
	}

	paint(context, kind, left, top, wide, high, lane, i) {
		const alpha = context.globalAlpha;

		context.fillStyle = this.colours[kind];
		if (kind === this.wait)
			context.globalAlpha = alpha * 0.35;
		context.fillRect(left, top, wide, high);
		context.globalAlpha = alpha;
		if (!lane || wide < 40 || high < 10)
			return;
		const [, kernel, layer] = this.names[lane.name[i]], text = layer || kernel, from = Math.max(left, 0) + 3;

		context.font = "9px system-ui, sans-serif";
		context.fillStyle = "#fff";
		if (text.length * 6 < wide - 4)
			context.fillText(text, from, top + high - 2);
	}
}
