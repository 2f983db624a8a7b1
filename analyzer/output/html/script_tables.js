/* Of the report's script (README.md): tables of class "list" sort by a click on a heading, and filter. */
function make(tag, attributes, ...children) {
	const element = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes || {}))
		element.setAttribute(name, value);
	element.append(...children);
	return element;
}

document.head.append(make("style", {},
	".tools{display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin:6px 0;font-size:13px}" +
	".tools input{font:inherit;padding:3px 8px;min-width:220px;color:var(--fg);background:var(--bg);" +
	"border:1px solid var(--line);border-radius:4px}" +
	"button.b{font:inherit;font-size:13px;padding:2px 8px;color:var(--fg);background:var(--panel);" +
	"border:1px solid var(--line);border-radius:4px;cursor:pointer}" +
	"button.s{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer}" +
	"button.s:hover{text-decoration:underline}td button.b{padding:0 5px;border:0;background:none;color:var(--forward)}" +
	"button:focus-visible,.view:focus-visible,input:focus-visible{outline:2px solid var(--forward);outline-offset:1px}" +
	".view{position:relative;border:1px solid var(--line);max-height:70vh;overflow-y:auto;overflow-x:hidden}" +
	".view canvas{display:block;width:100%;cursor:crosshair;touch-action:pan-y}" +
	".row{display:grid;grid-template-columns:160px 1fr;border-bottom:1px solid var(--line)}" +
	".label{display:flex;justify-content:space-between;overflow:hidden;white-space:nowrap;font-size:12px;padding:0 4px;gap:4px}" +
	".label button.s{text-align:left;overflow:hidden;text-overflow:ellipsis;align-self:center}" +
	".lanes{padding-top:1px;color:var(--dim);font-size:10px;text-align:right}.lanes span{display:block;height:16px;line-height:15px}" +
	".folded .lanes{display:none}.folded{line-height:8px;font-size:10px}.head .label{color:var(--dim);align-self:center}" +
	"@media (max-width:640px){.row{grid-template-columns:96px 1fr}.view>.row>.label{display:block}" +
	".label button.s{display:block;height:14px;line-height:14px;color:var(--dim)}.view>.row>.label:not(.folded)+canvas{margin-top:14px}.tools input{min-width:120px}}" +
	".head{position:sticky;top:0;background:var(--bg);z-index:1}.view canvas.map{cursor:ew-resize}" +
	".tip{position:fixed;z-index:9;pointer-events:none;max-width:420px;padding:6px 10px;font-size:13px;white-space:pre-line;" +
	"overflow-wrap:anywhere;color:var(--fg);background:var(--panel);border:1px solid var(--line);border-radius:4px}" +
	".status{min-height:1.5em;font-size:13px;overflow-wrap:anywhere}tr.hit>*{outline:2px solid var(--communication)}" +
	"@media print{.tools,.view,.status,.tip{display:none}}"));

const units = {ns: 1, us: 1e3, ms: 1e6, s: 1e9, "%": 1};

/* The number that a cell begins with, a time in ns; null: it is text; NaN: unknown. */
function number_of(text) {
	const found = /^([-+]?[\d.]+(?:e[+-]?\d+)?)\s*(ns|us|ms|s|%|×)?(?![\w.])/.exec(text);

	if (text === "" || text === "–" || text === "-")
		return NaN;
	return found ? Number(found[1]) * (units[found[2]] || 1) : null;
}

function compare(a, b, down) {
	const x = number_of(a), y = number_of(b);

	if (Number.isNaN(x) || Number.isNaN(y))
		return Number.isNaN(x) - Number.isNaN(y); /* unknown last, either way */
	return (x !== null && y !== null ? x - y : a.localeCompare(b)) * (down ? -1 : 1);
}

function sort(table, column, header) {
	const body = table.tBodies[0], rows = [...body.rows];
	const text = row => (row.cells[column] ? row.cells[column].textContent.trim() : "");
	const sample = rows.map(text).find(value => !Number.isNaN(number_of(value)));
	const before = header.getAttribute("aria-sort");
	/* First what one looks for: the greatest number, or the first letter. */
	const down = before ? before === "ascending" : number_of(sample || "") !== null;

	for (const other of table.tHead.rows[0].cells)
		other.removeAttribute("aria-sort");
	header.setAttribute("aria-sort", down ? "descending" : "ascending");
	rows.forEach(row => row.classList.remove("rule"));
	rows.sort((a, b) => compare(text(a), text(b), down));
	body.append(...rows);
}

function filter(table, query, count) {
	const rows = [...table.tBodies[0].rows], wanted = query.toLowerCase();
	let shown = 0;

	for (const row of rows) {
		row.hidden = !row.textContent.toLowerCase().includes(wanted);
		shown += !row.hidden;
	}
	count.textContent = wanted ? shown + " of " + rows.length + " rows" : "";
}

/* The rows that a fold keeps out of sight are found by sorting and filtering, too. */
function unfold(table) {
	const place = table.closest(".scroll") || table, fold = place.nextElementSibling;
	const more = fold && fold.tagName === "DETAILS" ? fold.querySelector("table.list") : null;

	if (!more || more.tHead.rows[0].cells.length !== table.tHead.rows[0].cells.length)
		return;
	table.tBodies[0].append(...more.tBodies[0].rows);
	fold.remove();
}

function work_table(table) {
	const plain = [...table.rows].every(row => [...row.cells].every(cell => cell.colSpan === 1 && cell.rowSpan === 1));

	if (!table.tHead || table.tHead.rows.length !== 1 || !plain)
		return;
	unfold(table);
	[...table.tHead.rows[0].cells].forEach((header, column) => {
		if (!header.textContent.trim())
			return;
		const button = make("button", {class: "s", type: "button", title: "sort"}, ...header.childNodes);

		header.append(button);
		button.addEventListener("click", () => sort(table, column, header));
	});
	if (table.tBodies[0].rows.length < 8)
		return;
	const input = make("input", {type: "search", placeholder: "filter rows", "aria-label": "filter rows"});
	const count = make("span", {role: "status", class: "dim"});

	input.addEventListener("input", () => filter(table, input.value, count));
	(table.closest(".scroll") || table).before(make("div", {class: "tools"}, input, count));
}

document.querySelectorAll("section table.list").forEach(table => {
	if (table.isConnected)
		work_table(table);
});
