/*
 * Of the report's script (README.md): the timeline over ranks, its window, and what is found and selected in it.
 * A rank is a row with a button that folds it and a canvas, drawn while it is in sight (script_timeline_draw.js). Its
 * events are decoded when they are first asked for: opening the page costs nothing for what is not looked at.
 */
const LANE_HEIGHT = 15, FOLDED_HEIGHT = 8;

class Rank {
	constructor(data, shown, folded) {
		this.name = data.name;
		this.steps = data.steps;
		this.data = shown.map(i => data.lanes[i]);
		this.count = this.data.reduce((sum, [count]) => sum + count, 0);
		this.found = null;
		this.folded = folded;
		this.visible = false;
	}

	get lanes() {
		if (this.data) {
			this.decoded = this.data.map(read_lane);
			this.data = null;
		}
		return this.decoded;
	}
}

class Timeline {
	constructor(data, section, run) {
		this.names = data.names;
		this.phases = data.phases;
		this.kinds = Uint8Array.from(data.names, name => (name ? name[0] : 0));
		this.window = data.window;
		/* Lanes that no rank has anything in are left out. */
		const shown = data.lanes.map((title, i) => i).filter(i => data.ranks.some(rank => rank.lanes[i][0]));

		this.ranks = data.ranks.map(rank => new Rank(rank, shown, data.ranks.length > 16));
		this.titles = shown.map(i => data.lanes[i]);
		this.device = Math.max(0, this.titles.indexOf("compute"));
		this.all = data.all;
		this.run = run;
		this.section = section;
		this.limits = data.limits;
		this.rank = 0;
		this.selected = null;
		this.matches = null;
		this.build();
		this.show(0, this.window);
	}

	/* -- What it stands on -- */

	build() {
		const events = this.ranks.reduce((sum, rank) => sum + rank.count, 0);
		const button = (text, label, act) => {
			const made = make("button", {class: "b", type: "button", "aria-label": label, title: label}, text);

			made.addEventListener("click", act);
			return made;
		};

		this.search = make("input", {type: "search", placeholder: "search kernel, layer, phase",
			"aria-label": "search events by kernel, layer or phase"});
		this.search.addEventListener("input", () => this.find(this.search.value));
		this.search.addEventListener("keydown", event => {
			if (event.key === "Enter")
				this.step(event.shiftKey ? -1 : 1, true);
		});
		this.status = make("p", {class: "status", role: "status"});
		this.axis = make("canvas", {height: 18, "aria-hidden": "true"});
		this.view = make("div", {class: "view", tabindex: 0, role: "application", "aria-label":
			"Timeline of " + this.ranks.length + (this.ranks.length === 1 ? " rank" : " ranks") + ". Left and right move, plus and minus zoom, 0 shows all, 1 the iteration, " +
			"up and down choose a rank, f folds it, n and p go to its next and previous event, Enter zooms to it."});
		this.map = new Minimap(this);
		this.view.append(make("div", {class: "head"}, make("div", {class: "row"}, make("span", {class: "label"}, "overview"), this.map.canvas),
			make("div", {class: "row"}, make("span", {}), this.axis)));
		this.ranks.forEach((rank, i) => this.build_rank(rank, i));
		this.tip = make("div", {class: "tip", hidden: ""});
		this.section.querySelector("script.events").after(make("div", {class: "tools"}, this.search,
			button("next", "next match", () => this.step(1, true)), button("−", "zoom out", () => this.zoom(2)),
			button("+", "zoom in", () => this.zoom(0.5)), button("◂", "move left", () => this.pan(-0.25)),
			button("▸", "move right", () => this.pan(0.25)),
			button("iteration", "the iteration of the picture", () => this.show(0, this.window)),
			button("all", "all that is recorded here", () => this.show(...this.limits)),
			button("fold", "fold or unfold all ranks", () => this.fold_all())), this.view, this.status);
		document.body.append(this.tip);
		this.say(events.toLocaleString("en") + " events of " + this.ranks.length + (this.ranks.length < this.all ?
			" of " + this.all : "") + (this.all === 1 ? " rank" : " ranks") + ". W and S zoom, A and D move, also the arrows, + and −; dragging moves, the wheel zooms after a click here, or with Ctrl.");
		this.view.addEventListener("pointerenter", () => (this.over = true));
		this.view.addEventListener("pointerleave", () => (this.over = false));
		document.addEventListener("keydown", event => this.key(event));
		new ResizeObserver(() => this.draw_soon()).observe(this.view);
		new IntersectionObserver(entries => {
			this.in_sight = entries[entries.length - 1].isIntersecting;
			this.draw_soon();
		}, {rootMargin: "300px"}).observe(this.view);
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
			this.colours = null;
			this.draw_soon();
		});
		this.build_still();
	}

	/* What is there without script stays, below: parsed when it is unfolded or printed. */
	build_still() {
		const still = this.section.querySelector("noscript"), fold = make("details", {}, make("summary", {}, "as a still picture"));
		const fill = () => {
			if (fold.childElementCount === 1)
				fold.insertAdjacentHTML("beforeend", still.textContent);
		};

		still.before(fold);
		fold.addEventListener("toggle", fill);
		addEventListener("beforeprint", () => {
			fill();
			fold.open = true;
		});
	}

	build_rank(rank, number) {
		rank.button = make("button", {class: "s", type: "button", title: "fold or unfold " + rank.name}, rank.name);
		rank.canvas = make("canvas", {role: "img", "aria-label": rank.name});
		rank.label = make("div", {class: "label"}, rank.button, make("div", {class: "lanes"}, ...this.titles.map(title => make("span", {}, title))));
		rank.row = make("div", {class: "row"}, rank.label, rank.canvas);
		rank.button.addEventListener("click", () => this.fold(number, !rank.folded));
		this.view.append(rank.row);
		this.fold(number, rank.folded);
		new IntersectionObserver(entries => {
			rank.visible = entries[entries.length - 1].isIntersecting;
			this.draw_soon();
		}, {root: this.view, rootMargin: "200px"}).observe(rank.row);
		rank.canvas.addEventListener("wheel", event => this.wheel(event), {passive: false});
		rank.canvas.addEventListener("pointerdown", event => this.press(event, number));
		rank.canvas.addEventListener("pointermove", event => this.hover(event, number));
		rank.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
		rank.canvas.addEventListener("dblclick", event => this.zoom(0.25, this.time_at(event)));
	}

	fold(number, folded) {
		const rank = this.ranks[number];

		rank.folded = folded;
		rank.button.setAttribute("aria-expanded", String(!folded));
		rank.height = folded ? FOLDED_HEIGHT : this.titles.length * (LANE_HEIGHT + 1) + 2;
		rank.canvas.style.height = rank.height + "px";
		rank.label.classList.toggle("folded", folded);
		this.draw_soon();
	}

	fold_all() {
		const folded = !this.ranks.every(rank => rank.folded);

		this.ranks.forEach((rank, i) => this.fold(i, folded));
	}

	say(text) {
		this.status.textContent = text;
	}

	/* -- The window -- */

	show(from, to) {
		const [first, last] = this.limits, wide = Math.min(Math.max(to - from, 100), last - first);

		this.from = Math.min(Math.max(from, first), last - wide);
		this.to = this.from + wide;
		this.view.dataset.from = this.from;
		this.view.dataset.to = this.to;
		this.draw_soon();
	}

	zoom(factor, around) {
		const middle = around === undefined ? (this.from + this.to) / 2 : around;

		this.show(middle - (middle - this.from) * factor, middle + (this.to - middle) * factor);
		this.say(time_text(this.to - this.from) + " are shown");
	}

	pan(part) {
		const move = (this.to - this.from) * part;

		this.show(this.from + move, this.to + move);
	}

	time_at(event) {
		const box = event.target.getBoundingClientRect();

		return this.from + (event.clientX - box.left) / box.width * (this.to - this.from);
	}

	/* Without Ctrl the wheel is the page's until the timeline has been clicked, and its own where it has more ranks than
	 * there is room for. */
	wheel(event) {
		const sideways = event.shiftKey ? event.deltaY : event.deltaX;
		const clicked = document.activeElement === this.view && this.view.scrollHeight <= this.view.clientHeight + 2;

		if (event.ctrlKey || event.metaKey || (clicked && !event.shiftKey && Math.abs(event.deltaY) >= Math.abs(event.deltaX)))
			this.zoom(Math.exp(Math.max(-50, Math.min(50, event.deltaY)) / 100), this.time_at(event));
		else if (Math.abs(sideways) > (event.shiftKey ? 0 : Math.abs(event.deltaY)))
			this.pan(sideways / 1000);
		else
			return;
		event.preventDefault();
	}

	press(event, number) {
		const canvas = event.target, start = event.clientX, [from, to] = [this.from, this.to];
		const scale = (to - from) / canvas.getBoundingClientRect().width;
		let dragged = false;
		const move = moved => {
			dragged = dragged || Math.abs(moved.clientX - start) > 3;
			if (dragged)
				this.show(from - (moved.clientX - start) * scale, to - (moved.clientX - start) * scale);
		};
		const end = () => {
			canvas.removeEventListener("pointermove", move);
			if (!dragged)
				this.select(number, this.event_at(event, number));
		};

		canvas.setPointerCapture(event.pointerId);
		canvas.addEventListener("pointermove", move);
		canvas.addEventListener("pointerup", end, {once: true});
	}

	/* What has the keyboard, or else the pointer, is meant. */
	key(event) {
		const active = document.activeElement, around = this.over ? this.pointer : undefined;
		const act = {
			ArrowLeft: () => this.pan(-0.2), a: () => this.pan(-0.2),
			ArrowRight: () => this.pan(0.2), d: () => this.pan(0.2),
			"+": () => this.zoom(0.5), "=": () => this.zoom(0.5), w: () => this.zoom(0.5, around),
			"-": () => this.zoom(2), s: () => this.zoom(2, around),
			0: () => this.show(...this.limits), 1: () => this.show(0, this.window),
			ArrowDown: () => this.choose(this.rank + 1), ArrowUp: () => this.choose(this.rank - 1),
			f: () => this.fold(this.rank, !this.ranks[this.rank].folded),
			n: () => this.step(1, false), p: () => this.step(-1, false),
			Enter: () => this.zoom_to_selected(), Escape: () => active.blur(),
		}[event.key];

		if (!act || event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (active !== this.view && !(this.over && active === document.body && /^[wasd]$/.test(event.key)))
			return;
		event.preventDefault();
		act();
	}

	choose(number) {
		this.rank = Math.min(Math.max(number, 0), this.ranks.length - 1);
		this.ranks[this.rank].row.scrollIntoView({block: "nearest"});
		this.say(this.ranks[this.rank].name + (this.ranks[this.rank].folded ? ", folded" : ""));
		this.draw_soon();
	}

	/* -- Events -- */

	describe(rank, lane, i) {
		const [kind, kernel, layer, shape, bytes, , domain] = this.names[lane.name[i]];
		const of = layer ? ", " + layer : domain ? ", domain " + domain : "";
		const lines = [kernel || this.titles[rank.lanes.indexOf(lane)] || "range", this.phases[kind][1] + of];

		if (shape)
			lines.push(shape);
		if (bytes !== null)
			lines.push(bytes.toLocaleString("en") + " bytes");
		lines.push(time_text(lane.end[i] - lane.start[i]) + ", starts at " + time_text(lane.start[i]) + " on " + rank.name);
		return lines;
	}

	/* Of what is drawn where the pointer is: the event there, or one within two pixels. */
	event_at(event, number) {
		const rank = this.ranks[number], box = event.target.getBoundingClientRect(), time = this.time_at(event);
		const near = 2 * (this.to - this.from) / box.width, row = Math.floor((event.clientY - box.top - 1) / (LANE_HEIGHT + 1));
		let best = null, least = near;

		rank.lanes.forEach((lane, place) => {
			if (rank.folded ? place < this.device : place !== row)
				return;
			for (let i = first_above(lane.reach, time - near, 0); i < lane.count && lane.start[i] <= time + near; i++) {
				const far = Math.max(lane.start[i] - time, time - lane.end[i], 0);

				if (far < least) {
					best = {lane: place, i};
					least = far;
				}
				if (i - first_above(lane.reach, time - near, 0) > 1000)
					break;
			}
		});
		return best;
	}

	hover(event, number) {
		const found = event.buttons ? null : this.event_at(event, number), rank = this.ranks[number];

		this.pointer = this.time_at(event);
		this.tip.hidden = !found;
		if (!found)
			return;
		this.tip.textContent = this.describe(rank, rank.lanes[found.lane], found.i).join("\n");
		this.tip.style.left = Math.min(event.clientX + 14, innerWidth - 300) + "px";
		this.tip.style.top = Math.min(event.clientY + 14, innerHeight - 120) + "px";
	}

	select(number, found) {
		const rank = this.ranks[number];

		this.rank = number;
		this.selected = found ? {rank: number, ...found} : null;
		if (found)
			this.say(this.describe(rank, rank.lanes[found.lane], found.i).join(" · "));
		this.draw_soon();
	}

	/* To the next event of the rank, by start, or to the next that is searched for, of any rank. */
	step(by, searched) {
		const of = this.selected && this.selected.rank === this.rank ? this.selected : null;
		const rank = this.ranks[this.rank], at = of ? rank.lanes[of.lane].start[of.i] : this.from - (by > 0 ? 1 : 0);
		let best = null;

		rank.lanes.forEach((lane, place) => {
			let i = first_above(lane.start, at, 0);

			if (by < 0)
				for (i--; i >= 0 && lane.start[i] >= at; i--)
					;
			for (; i >= 0 && i < lane.count && this.matches && !this.matches[lane.name[i]]; i += by)
				;
			if (i >= 0 && i < lane.count && (!best || (lane.start[i] - rank.lanes[best.lane].start[best.i]) * by < 0))
				best = {lane: place, i};
		});
		if (best) {
			this.fold(this.rank, false);
			this.select(this.rank, best);
			this.reveal(rank.lanes[best.lane].start[best.i], rank.lanes[best.lane].end[best.i]);
		} else if (searched && this.rank + by >= 0 && this.rank + by < this.ranks.length) {
			this.selected = null;
			this.choose(this.rank + by);
			if (by > 0)
				this.show(this.limits[0], this.limits[0] + this.to - this.from);
			this.step(by, searched);
		} else {
			this.say("No other " + (this.matches ? "match" : "event") + " " + (by > 0 ? "after" : "before") + " this one");
		}
	}

	reveal(start, end) {
		const wide = this.to - this.from;

		if (start < this.from || end > this.to)
			this.show((start + end - wide) / 2, (start + end + wide) / 2);
	}

	zoom_to_selected() {
		if (!this.selected)
			return;
		const lane = this.ranks[this.selected.rank].lanes[this.selected.lane], i = this.selected.i;
		const around = Math.max(lane.end[i] - lane.start[i], 50);

		this.show(lane.start[i] - around, lane.end[i] + around);
	}

	find(query) {
		const exact = /^layer:(.*)$/.exec(query.trim()), wanted = query.trim().toLowerCase();
		let count = 0;

		this.matches = wanted ? this.names.map(name => name && (exact ? name[2] === exact[1] :
			[name[1], name[2], name[3], this.phases[name[0]][1], name[6] || ""].join("\n").toLowerCase().includes(wanted))) : null;
		for (const rank of this.ranks) {
			rank.found = this.matches && rank.lanes.map(lane => part_of(lane, this.matches));
			count += rank.found ? rank.found.reduce((sum, lane) => sum + lane.count, 0) : 0;
		}
		this.selected = null;
		this.say(this.matches ? count.toLocaleString("en") + " events match" : "");
		this.draw_soon();
		return count;
	}

	/* From a finding or a layer: where its first event is, on the rank if one is named. */
	show_layer(layer, name) {
		const number = this.ranks.findIndex(rank => rank.name === name);

		this.search.value = layer ? "layer:" + layer : "";
		const count = this.find(this.search.value);

		this.choose(Math.max(number, 0));
		this.fold(this.rank, false);
		this.show(0, this.window);
		if (count)
			this.step(1, true);
		this.section.scrollIntoView();
		this.view.focus({preventScroll: true});
	}
}
