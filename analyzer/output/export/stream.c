/* Streamed output, plain or gzip, and JSON strings: see stream.h. */
#include "stream.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_BYTES ((size_t)1 << 16)
#define MOST_FORMATTED 512 /* bytes; texts of any length go through export_bytes */

int export_open(struct export_out *out, const char *path)
{
	size_t length = path ? strlen(path) : 0;

	int status;

	*out = (struct export_out){.plain = !path, .file = STDOUT_FILENO};
	if (path) {
		status = pm_output_open(&out->output, path, false);
		if (status < 0)
			return status;
		out->file = out->output.file;
	}
	if (length > 3 && strcmp(path + length - 3, ".gz") == 0) {
		/* which closes its file */
		int file = fcntl(out->file, F_DUPFD_CLOEXEC, 3);

		out->gzip = file < 0 ? NULL : gzdopen(file, "wb");
		if (!out->gzip) {
			if (file >= 0)
				close(file);
			return pm_output_close(&out->output, file < 0 ? errno : ENOMEM);
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
	flush(out);
	errno = 0;
	if (out->gzip && gzclose(out->gzip) != Z_OK && !out->error)
		out->error = errno ? errno : EIO;
	free(out->buffer);
	return out->plain ? -out->error : pm_output_close(&out->output, out->error);
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

void export_text(struct export_out *out, const char *text)
{
	size_t length = strlen(text);

	while (length) {
		size_t count = pm_text_character(text, length);

		if (count == 0)
			export_bytes(out, "\\ufffd", 6);
		else if (*text == '"' || *text == '\\')
			export_format(out, "\\%c", *text);
		else if (pm_text_controls(text, count) || *text == '\n' || *text == '\t')
			export_format(out, "\\u%04x", (unsigned char)text[count - 1]);
		else
			export_bytes(out, text, count);
		count = count ? count : 1;
		text += count;
		length -= count;
	}
}

void export_string(struct export_out *out, const char *text)
{
	export_bytes(out, "\"", 1);
	export_text(out, text);
	export_bytes(out, "\"", 1);
}
