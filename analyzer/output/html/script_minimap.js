/*
 * Of the report's script (README.md): all of the timeline in a strip, with the window that is shown. Dragging in the
 * window moves it, elsewhere draws another; a click brings it there.
 */
const MAP_HEIGHT = 36, MAP_RANKS = 6;

class Minimap {
	constructor(timeline) {
		this.timeline = timeline;
		this.canvas = make("canvas", {class: "map", role: "img", "aria-label": "overview of all that is recorded here"});
		this.canvas.style.height = MAP_HEIGHT + "px";
		this.still = make("canvas");
		this.dirty = true;
		this.canvas.addEventListener("pointerdown", event => this.press(event));
	}

	time_at(event) {
		const [first, last] = this.timeline.limits, box = this.canvas.getBoundingClientRect();

		return first + (event.clientX - box.left) / box.width * (last - first);
	}

	/* The ranks' work on the device, drawn once for a size and a set of colours. */
	draw_still(wide) {
		const [first, last] = this.timeline.limits, ranks = this.timeline.ranks.slice(0, MAP_RANKS);
		const high = Math.floor((MAP_HEIGHT - 4) / ranks.length), context = this.still.getContext("2d");

		this.still.width = wide;
		this.still.height = MAP_HEIGHT;
		this.timeline.nameless = true;
		ranks.forEach((rank, i) => {
			const lanes = rank.lanes.slice(this.timeline.device);

			lanes.reverse().forEach(lane => this.timeline.draw_lane(context, lane, 2 + i * high, Math.max(high - 1, 1), wide, first, last));
		});
		this.timeline.nameless = false;
		this.dirty = false;
	}

	draw() {
		const [context, wide] = this.timeline.canvas_of(this.canvas, MAP_HEIGHT), [first, last] = this.timeline.limits;
		const left = (this.timeline.from - first) / (last - first) * wide, right = (this.timeline.to - first) / (last - first) * wide;

		if (wide < 1)
			return;
		if (this.dirty || this.still.width !== wide)
			this.draw_still(wide);
		context.drawImage(this.still, 0, 0);
		context.globalAlpha = 0.25;
		context.fillStyle = this.timeline.text;
		context.fillRect(0, 0, left, MAP_HEIGHT);
		context.fillRect(right, 0, wide - right, MAP_HEIGHT);
		context.globalAlpha = 1;
		context.strokeStyle = this.timeline.text;
		context.strokeRect(left + 0.5, 0.5, Math.max(right - left - 1, 2), MAP_HEIGHT - 1);
	}

	press(event) {
		const {from, to} = this.timeline, start = this.time_at(event), inside = start > from && start < to && to - from < 0.98 * (this.timeline.limits[1] - this.timeline.limits[0]);
		const x = event.clientX;
		let dragged = false;
		const move = moved => {
			const now = this.time_at(moved);

			dragged = dragged || Math.abs(moved.clientX - x) > 3;
			if (dragged && inside)
				this.timeline.show(from + now - start, to + now - start);
			else if (dragged)
				this.timeline.show(Math.min(start, now), Math.max(start, now));
		};

		this.canvas.setPointerCapture(event.pointerId);
		this.canvas.addEventListener("pointermove", move);
		this.canvas.addEventListener("pointerup", () => {
			this.canvas.removeEventListener("pointermove", move);
			if (!dragged)
				this.timeline.show(start - (to - from) / 2, start + (to - from) / 2);
		}, {once: true});
	}
}
