/*
 * What JAX writes into an op_name: a path of words, of which derivatives, compiled functions and the like
 * have what they are made of in parentheses, and of which the last one is the primitive.
 */
#include "hlo_program.h"

#include <ctype.h>

static bool is_one_of(const char *word, size_t length, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == length && memcmp(*words, word, length) == 0)
			return true;
	return false;
}

enum hlo_direction hlo_name_direction(const char *op_name)
{
	if (strstr(op_name, "transpose("))
		return strstr(op_name, "rematted_computation") ? HLO_RECOMPUTED : HLO_BACKWARD;
	return strstr(op_name, "jvp(") ? HLO_FORWARD : HLO_NONE;
}

/* The length of the word up to the next slash outside of parentheses. */
static size_t word_length(const char *text)
{
	size_t n = 0;

	for (int depth = 0; text[n] && (text[n] != '/' || depth > 0); n++)
		depth += (text[n] == '(') - (text[n] == ')');
	return n;
}

/* "transpose(jvp(CNN))" is CNN, "jit(relu)" nothing. */
static void unwrap(const char **word, size_t *length)
{
	static const char *const functions[] = {"jit", "pjit", "xla_call", NULL};

	while (*length && (*word)[*length - 1] == ')') {
		size_t n = 0;

		while (n < *length && (isalnum((unsigned char)(*word)[n]) || (*word)[n] == '_'))
			n++;
		if (n == 0 || (*word)[n] != '(')
			return;
		if (is_one_of(*word, n, functions)) {
			*length = 0;
			return;
		}
		*word += n + 1;
		*length -= n + 2;
	}
}

static bool contains(const char *word, size_t length, const char *part)
{
	const size_t n = strlen(part);

	for (size_t i = 0; i + n <= length; i++)
		if (memcmp(word + i, part, n) == 0)
			return true;
	return false;
}

/* Words for how a function is called, not for what is in which module. */
static bool is_call(const char *word, size_t length)
{
	static const char *const words[] = {"while", "body", "cond", "scan", "closed_call", "remat",
		"checkpoint", "rematted_computation", "pjit", "shard_map", "custom_jvp", "custom_vjp",
		"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "core_call", "eval_jaxpr",
		NULL};

	return is_one_of(word, length, words) || contains(word, length, "->") ||
	       (length > 7 && memcmp(word, "branch_", 7) == 0 && contains(word, length, "_fun"));
}

/* The backward pass of what is computed again has the derivative of the outermost module twice, in one
 * another: "transpose(jvp(GPT))/jvp(GPT)/checkpoint/rematted_computation/block1". */
static bool is_repeated(const char *path, size_t used, const char *word, size_t length, const char *wrapped)
{
	return wrapped < word && used == length && memcmp(path, word, length) == 0;
}

const char *hlo_name_layer(struct arena *arena, const char *op_name)
{
	char *path = arena_alloc(arena, strlen(op_name) + 2, 1);
	size_t used = 0;

	for (const char *at = op_name;;) {
		size_t length = word_length(at);
		const char *word = at, *wrapped = at;

		if (!at[length])
			break; /* the primitive */
		at += length + 1;
		unwrap(&word, &length);
		if (!length || is_call(word, length) || is_repeated(path, used, word, length, wrapped))
			continue;
		if (used)
			path[used++] = '/';
		memcpy(path + used, word, length);
		used += length;
	}
	path[used] = 0;
	return path;
}
