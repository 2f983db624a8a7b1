/* Of the report's script (README.md): a click on a box of the flame graph makes it as wide as the page, on the uppermost
 * shows all again. A name that its box has no room for ends with an ellipsis, or is left out. */
document.querySelectorAll("svg.flame").forEach(flame => {
	const LETTER = 6.1, MARGIN = 8, LEAST = 3; /* pixels of a letter and beside a name; letters that say something */
	const boxes = [...flame.querySelectorAll("svg.box")].map(box => ({box, row: box.y.baseVal.value,
		from: parseFloat(box.getAttribute("x")), wide: parseFloat(box.getAttribute("width"))}));

	for (const item of boxes) {
		item.text = item.box.querySelector("text");
		item.name = item.text.textContent;
	}

	function fit() {
		const whole = flame.getBoundingClientRect().width / 100;

		for (const {box, text, name} of boxes) {
			const room = Math.floor((parseFloat(box.getAttribute("width")) * whole - MARGIN) / LETTER);

			text.textContent = name.length <= room ? name : room <= LEAST ? "" : name.slice(0, room - 1) + "…";
		}
	}

	function show(chosen) {
		for (const {box, row, from, wide} of boxes) {
			const left = (from - chosen.from) / chosen.wide * 100, right = (from + wide - chosen.from) / chosen.wide * 100;
			const around = row <= chosen.row && left <= 0.01 && right >= 99.99;

			box.setAttribute("x", (around ? 0 : left) + "%");
			box.setAttribute("width", (around ? 100 : right - left) + "%");
			box.style.display = around || (right > 0.01 && left < 99.99 && row > chosen.row) ? "" : "none";
		}
		fit();
	}

	new ResizeObserver(fit).observe(flame); /* also at first, when it has been laid out */

	for (const item of boxes)
		item.box.addEventListener("click", () => show(item));
});
