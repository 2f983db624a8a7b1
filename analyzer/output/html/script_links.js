/* Of the report's script (README.md), at its end: from findings to layers, and from both to the timeline. */
const timelines = new Map();

document.querySelectorAll("script.events").forEach(script => {
	const data = JSON.parse(script.textContent), run = script.dataset.run;

	timelines.set(run, new DrawnTimeline(data, script.closest("section"), run));
});

function link(text, label, act) {
	const button = make("button", {class: "b", type: "button", title: label, "aria-label": label}, text);

	button.addEventListener("click", act);
	return button;
}

/* The layer's row, shown and with the keyboard. */
function show_row(row) {
	document.querySelectorAll("tr.hit").forEach(other => other.classList.remove("hit"));
	row.hidden = false;
	row.classList.add("hit");
	row.scrollIntoView({block: "center"});
	row.querySelector("button").focus({preventScroll: true});
}

document.querySelectorAll("tr[data-layer]").forEach(row => {
	const timeline = timelines.get(row.dataset.run), layer = row.dataset.layer;

	if (timeline)
		[...row.cells].find(cell => cell.textContent.includes(layer)).append(" ",
			link("▸", layer + " in the timeline", () => timeline.show_layer(layer, "")));
});

document.querySelectorAll("li[data-run]").forEach(item => {
	const {run, rank, layer} = item.dataset, timeline = timelines.get(run);
	const row = layer && [...document.querySelectorAll("tr[data-layer]")].find(other =>
		other.dataset.run === run && other.dataset.layer === layer);

	if (row && row.querySelector("button"))
		item.append(" ", link("layer", "layer " + layer, () => show_row(row)));
	if (timeline && (layer || rank))
		item.append(" ", link("timeline", "show it in the timeline", () => timeline.show_layer(layer || "", rank || "")));
});
