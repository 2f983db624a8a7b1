/* Rules of a space: a parser by recursive descent that computes as it reads. See space_rule.h. */
#include "space_rule.h"
#include "base/error_message.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MOST 64
#define DEPTH_MOST 64

/* A number, or a word that can only be compared. */
struct value {
	double number;
	bool is_word;
	char word[WORD_MOST];
	const char *const *levels; /* of a column; NULL of a bare word */
};

struct parser {
	const char *text, *at;
	const struct space_rule_name *names;
	size_t count;
	const char *bad;
	int depth;
};

static struct value either(struct parser *p);

static void blame(struct parser *p, const char *what, const char *word)
{
	if (!p->bad)
		p->bad = error_message("'%s', character %td: %s%s", p->text, p->at - p->text + 1, what, word);
}

static bool space_rule_take(struct parser *p, const char *sign)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
	if (strncmp(p->at, sign, strlen(sign)) != 0)
		return false;
	/* "!" is not the start of "!=" */
	if (strcmp(sign, "!") == 0 && p->at[1] == '=')
		return false;
	p->at += strlen(sign);
	return true;
}

static double number(struct parser *p, struct value value)
{
	if (value.is_word)
		blame(p, "expected a number, not a word or unknown column: ", value.word);
	return value.number;
}

static struct value call(struct parser *p, const char *name)
{
	static const struct {
		const char *name;
		double (*one)(double);
		double (*two)(double, double);
	} functions[] = {
		{"floor", floor, NULL}, {"ceil", ceil, NULL}, {"min", NULL, fmin}, {"max", NULL, fmax}};
	struct value value = {0};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		double first;

		if (strcmp(name, functions[i].name) != 0)
			continue;
		first = number(p, either(p));
		if (functions[i].one) {
			value.number = functions[i].one(first);
		} else {
			if (!space_rule_take(p, ","))
				blame(p, "expected a comma and a second number", "");
			value.number = functions[i].two(first, number(p, either(p)));
		}
		if (!space_rule_take(p, ")"))
			blame(p, "expected )", "");
		return value;
	}
	blame(p, "unknown function ", name);
	return value;
}

static struct value name_value(struct parser *p, const char *word)
{
	struct value value = {.is_word = true};

	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->names[i].name, word) == 0) {
			value.is_word = p->names[i].is_word;
			value.number = p->names[i].number;
			value.levels = p->names[i].levels;
			word = value.is_word ? p->names[i].word : "";
			break;
		}
	snprintf(value.word, sizeof(value.word), "%s", word);
	return value;
}

static struct value quoted(struct parser *p)
{
	struct value value = {.is_word = true};
	const char *end = strchr(p->at + 1, *p->at);

	if (!end || end - p->at > WORD_MOST) {
		blame(p, "unterminated quotes", "");
		return value;
	}
	memcpy(value.word, p->at + 1, (size_t)(end - p->at - 1));
	p->at = end + 1;
	return value;
}

static struct value primary(struct parser *p)
{
	struct value value = {0};
	char word[WORD_MOST];
	size_t length = 0;

	if (space_rule_take(p, "(")) {
		value = either(p);
		if (!space_rule_take(p, ")"))
			blame(p, "expected )", "");
		return value;
	}
	if (*p->at == '"' || *p->at == '\'')
		return quoted(p);
	if (isdigit((unsigned char)*p->at) || *p->at == '.') {
		char *end;

		value.number = strtod(p->at, &end);
		if (end == p->at)
			blame(p, "expected a number", "");
		p->at = end;
		return value;
	}
	while ((isalnum((unsigned char)p->at[length]) || p->at[length] == '_') && length + 1 < sizeof(word))
		length++;
	if (length == 0) {
		blame(p, "expected a number or a name", "");
		return value;
	}
	memcpy(word, p->at, length);
	word[length] = '\0';
	p->at += length;
	return space_rule_take(p, "(") ? call(p, word) : name_value(p, word);
}

static struct value unary(struct parser *p)
{
	struct value value = {0};

	if (++p->depth > DEPTH_MOST)
		blame(p, "nested too deeply", "");
	else if (space_rule_take(p, "-"))
		value.number = -number(p, unary(p));
	else if (space_rule_take(p, "!"))
		value.number = number(p, unary(p)) == 0;
	else
		value = primary(p);
	p->depth--;
	return value;
}

static struct value product(struct parser *p)
{
	struct value value = unary(p);

	while (!p->bad) {
		if (space_rule_take(p, "*"))
			value.number = number(p, value) * number(p, unary(p));
		else if (space_rule_take(p, "/"))
			value.number = number(p, value) / number(p, unary(p));
		else if (space_rule_take(p, "%"))
			value.number = fmod(number(p, value), number(p, unary(p)));
		else
			break;
	}
	return value;
}

static struct value sum(struct parser *p)
{
	struct value value = product(p);

	while (!p->bad) {
		if (space_rule_take(p, "+"))
			value.number = number(p, value) + number(p, product(p));
		else if (space_rule_take(p, "-"))
			value.number = number(p, value) - number(p, product(p));
		else
			break;
	}
	return value;
}

static bool is_level(const struct value *column, const struct value *word)
{
	if (!column->levels)
		return true;
	for (const char *const *level = column->levels; *level; level++)
		if (strcmp(*level, word->word) == 0)
			return true;
	return false;
}

static bool same(struct parser *p, const struct value *a, const struct value *b)
{
	if (!a->is_word && !b->is_word)
		return a->number == b->number;
	if (a->is_word != b->is_word || (!a->levels && !b->levels))
		blame(p, "expected a categorical column compared with one of its words, not ",
			b->is_word ? b->word : a->word);
	else if (!is_level(a, b))
		blame(p, "unknown level ", b->word);
	else if (!is_level(b, a))
		blame(p, "unknown level ", a->word);
	return strcmp(a->word, b->word) == 0;
}

static struct value comparison(struct parser *p)
{
	static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
	struct value left = sum(p), right, value = {0};
	double a, b;
	size_t sign = 0;

	while (sign < 6 && !space_rule_take(p, signs[sign]))
		sign++;
	if (sign == 6 || p->bad)
		return left;
	right = sum(p);
	if (sign < 2) {
		value.number = same(p, &left, &right) == (sign == 0);
		return value;
	}
	a = number(p, left);
	b = number(p, right);
	value.number = sign == 2 ? a <= b : sign == 3 ? a >= b : sign == 4 ? a < b : a > b;
	return value;
}

static struct value both(struct parser *p)
{
	struct value value = comparison(p);

	while (!p->bad && space_rule_take(p, "&&")) {
		double right = number(p, comparison(p));

		value.number = number(p, value) != 0 && right != 0;
	}
	return value;
}

static struct value either(struct parser *p)
{
	struct value value = both(p);

	while (!p->bad && space_rule_take(p, "||")) {
		double right = number(p, both(p));

		value.number = number(p, value) != 0 || right != 0;
	}
	return value;
}

const char *space_rule_value(
	const char *text, const struct space_rule_name *names, size_t count, double *value)
{
	struct parser p = {.text = text, .at = text, .names = names, .count = count};

	*value = number(&p, either(&p));
	while (isspace((unsigned char)*p.at))
		p.at++;
	if (!p.bad && *p.at)
		blame(&p, "expected an operator or the end, not ", p.at);
	return p.bad;
}
