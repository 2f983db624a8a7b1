/* Of the report's script (README.md): a click on a box of the flame graph makes it as wide as the page, on the uppermost
 * shows all again. */
document.querySelectorAll("svg.flame").forEach(flame => {
	const boxes = [...flame.querySelectorAll("svg.box")].map(box => ({box, row: box.y.baseVal.value,
		from: parseFloat(box.getAttribute("x")), wide: parseFloat(box.getAttribute("width"))}));

	function show(chosen) {
		for (const {box, row, from, wide} of boxes) {
			const left = (from - chosen.from) / chosen.wide * 100, right = (from + wide - chosen.from) / chosen.wide * 100;
			const around = row <= chosen.row && left <= 0.01 && right >= 99.99;

			box.setAttribute("x", (around ? 0 : left) + "%");
			box.setAttribute("width", (around ? 100 : right - left) + "%");
			box.style.display = around || (right > 0.01 && left < 99.99 && row > chosen.row) ? "" : "none";
		}
	}

	for (const item of boxes)
		item.box.addEventListener("click", () => show(item));
});
