/* Streamed output, plain or gzip, and JSON strings: see export_out.h. */
#include "export_out.h"
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_BYTES ((size_t)1 << 16)
#define MOST_FORMATTED 512 /* bytes; texts of any length go through export_bytes */

int export_open(struct export_out *out, const char *path)
{
	size_t length = path ? strlen(path) : 0;

	*out = (struct export_out){.path = path, .file = STDOUT_FILENO};
	if (path) {
		out->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (out->file < 0)
			return -errno;
	}
	if (length > 3 && strcmp(path + length - 3, ".gz") == 0) {
		out->gzip = gzdopen(out->file, "wb");
		if (!out->gzip) {
			close(out->file);
			return -ENOMEM;
		}
	}
	out->buffer = mem_alloc(BUFFER_BYTES, 1);
	return 0;
}

static void write_plain(struct export_out *out, const char *bytes, size_t count)
{
	while (count > 0 && !out->error) {
		ssize_t written = write(out->file, bytes, count);

		if (written < 0 && errno != EINTR)
			out->error = errno;
		if (written > 0) {
			bytes += written;
			count -= (size_t)written;
		}
	}
}

static void flush(struct export_out *out)
{
	if (out->used && !out->error && out->gzip) {
		errno = 0;
		if (gzwrite(out->gzip, out->buffer, (unsigned)out->used) != (int)out->used)
			out->error = errno ? errno : EIO;
	} else {
		write_plain(out, out->buffer, out->used);
	}
	out->used = 0;
}

int export_close(struct export_out *out)
{
	struct stat status;
	bool regular = fstat(out->file, &status) == 0 && S_ISREG(status.st_mode);

	flush(out);
	errno = 0;
	if (out->gzip && gzclose(out->gzip) != Z_OK && !out->error)
		out->error = errno ? errno : EIO;
	if (!out->gzip && out->path && close(out->file) < 0 && !out->error)
		out->error = errno;
	if (out->error && out->path && regular)
		unlink(out->path);
	free(out->buffer);
	return -out->error;
}

void export_bytes(struct export_out *out, const char *bytes, size_t count)
{
	while (count > 0) {
		size_t room = BUFFER_BYTES - out->used, part = count < room ? count : room;

		memcpy(out->buffer + out->used, bytes, part);
		out->used += part;
		bytes += part;
		count -= part;
		if (out->used == BUFFER_BYTES)
			flush(out);
	}
}

void export_format(struct export_out *out, const char *format, ...)
{
	char text[MOST_FORMATTED];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (length > 0)
		export_bytes(out, text, (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

/* Bytes of the UTF-8 character that begins here; 0: none does. Overlong forms and surrogates are none. */
static size_t character_bytes(const unsigned char *text)
{
	size_t count = text[0] < 0x80   ? 1
		       : text[0] < 0xc2 ? 0
		       : text[0] < 0xe0 ? 2
		       : text[0] < 0xf0 ? 3
		       : text[0] < 0xf5 ? 4
					: 0;

	for (size_t i = 1; i < count; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
		(text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return count;
}

void export_text(struct export_out *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		size_t count = character_bytes(at);

		if (count == 0)
			export_bytes(out, "\\ufffd", 6);
		else if (*at == '"' || *at == '\\')
			export_format(out, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			export_format(out, "\\u%04x", *at);
		else
			export_bytes(out, (const char *)at, count);
		at += count ? count : 1;
	}
}

void export_string(struct export_out *out, const char *text)
{
	export_bytes(out, "\"", 1);
	export_text(out, text);
	export_bytes(out, "\"", 1);
}
