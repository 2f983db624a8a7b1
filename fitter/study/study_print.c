/* A study's tables as text, JSON and a page: see study_print.h. */
#include "study_print.h"
#include "base/html.h"

void study_text(const struct study *study, FILE *out)
{
	fprintf(out, "%s\n\n", study->title);
	for (size_t i = 0; i < STUDY_TABLES; i++) {
		const struct study_table *table = &study->tables[i];

		print_text(&table->rows, table->title, out);
		if (*table->note)
			print_paragraph(table->note, 0, out);
		fputc('\n', out);
	}
}

cJSON *study_json(const struct study *study)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "title", study->title);
	for (size_t i = 0; i < STUDY_TABLES; i++) {
		const struct study_table *table = &study->tables[i];
		cJSON *object = cJSON_AddObjectToObject(root, table->name);

		cJSON_AddStringToObject(object, "title", table->title);
		if (*table->note)
			cJSON_AddStringToObject(object, "note", table->note);
		cJSON_AddItemToObject(object, "rows", print_json(&table->rows));
	}
	return root;
}

static void put_element(const char *element, const char *text, FILE *out)
{
	fprintf(out, "<%s>", element);
	html_text(text, out);
	fprintf(out, "</%s>\n", element);
}

void study_html(const struct study *study, const char *plots, FILE *out)
{
	static const char style[] = "td:last-child.l{white-space:normal;min-width:20em}\n";

	html_begin(study->title, (const char *const[]){style, NULL}, out);
	put_element("h1", study->title, out);
	if (plots)
		fprintf(out, "<p><a href=\"%s\">Plots of the fits</a></p>\n", plots);
	for (size_t i = 0; i < STUDY_TABLES; i++) {
		const struct study_table *table = &study->tables[i];

		put_element("h2", table->title, out);
		print_html(&table->rows, out);
		put_element("p", table->note, out);
	}
	html_end(out);
}
