/* A program that fills the terminal: see screen.h. */
#include "screen.h"
#include "terminal.h"
#include "text.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ESCAPE_MS 50 /* within which the rest of a key's sequence comes */

static const int taken_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
#define SIGNAL_COUNT (sizeof(taken_signals) / sizeof(*taken_signals))

static struct {
	bool on;
	struct termios before;
	sigset_t taken, mask; /* while working, what is blocked besides; and the mask while waiting */
	struct sigaction actions[SIGNAL_COUNT];
	unsigned char keys[64]; /* read, and not yet taken */
	size_t key_count;
} screen;

static volatile sig_atomic_t caught[NSIG];

static void note(int number)
{
	caught[number] = 1;
}

/* The other buffer, no cursor, and lines that are too long do not go on below. */
static void enter(void)
{
	struct termios raw = screen.before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	pm_terminal_control(stdout, "\033[?1049h\033[?25l\033[?7l");
}

static void leave(void)
{
	pm_terminal_control(stdout, "\033[0m\033[?7h\033[?25h\033[?1049l");
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
}

bool screen_can(void)
{
	const char *terminal = getenv("TERM");

	return isatty(STDIN_FILENO) && pm_terminal_is(stdout) && terminal && strcmp(terminal, "dumb") != 0;
}

bool screen_begin(void)
{
	struct sigaction action = {.sa_handler = note};

	if (tcgetattr(STDIN_FILENO, &screen.before) < 0)
		return false;
	sigemptyset(&screen.taken);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaddset(&screen.taken, taken_signals[i]);
	pthread_sigmask(SIG_BLOCK, &screen.taken, &screen.mask);
	for (size_t i = 0; i < SIGNAL_COUNT; i++) {
		(void)sigaction(taken_signals[i], &action, &screen.actions[i]);
		if (screen.actions[i].sa_handler == SIG_IGN) /* nohup, or a shell that cannot stop jobs */
			(void)sigaction(taken_signals[i], &screen.actions[i], NULL);
	}
	screen.on = true;
	(void)atexit(screen_end);
	enter();
	return true;
}

void screen_end(void)
{
	if (!screen.on)
		return;
	screen.on = false;
	leave();
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		(void)sigaction(taken_signals[i], &screen.actions[i], NULL);
	pthread_sigmask(SIG_SETMASK, &screen.mask, NULL);
}

void screen_size(int *columns, int *lines)
{
	struct winsize size;

	*columns = pm_terminal_width(stdout);
	*lines = ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

/* Bytes of at most so many characters. */
static size_t cut(const char *text, size_t length, int columns)
{
	size_t at = 0;

	for (; at < length && columns > 0; columns--) {
		const size_t bytes = pm_text_character(text + at, length - at);

		at += bytes ? bytes : 1;
	}
	return at;
}

void screen_line(int line, const char *text, size_t length, enum screen_style style)
{
	static const char *const begins[] = {"", "\033[1m", "\033[7m"};
	char place[32];
	int columns, lines;

	screen_size(&columns, &lines);
	if (line >= lines)
		return;
	snprintf(place, sizeof(place), "\033[%d;1H%s", line + 1, begins[style]);
	pm_terminal_control(stdout, place);
	(void)fwrite(text, 1, cut(text, length, columns), stdout);
	pm_terminal_control(stdout, "\033[0m\033[K");
}

void screen_rest(int line)
{
	char place[32];
	int columns, lines;

	screen_size(&columns, &lines);
	if (line < lines) {
		snprintf(place, sizeof(place), "\033[%d;1H\033[J", line + 1);
		pm_terminal_control(stdout, place);
	}
}

/* The terminal is the shell's until the program goes on. */
static void stop(void)
{
	struct sigaction noting, usual = {.sa_handler = SIG_DFL};

	leave();
	(void)sigaction(SIGTSTP, &usual, &noting);
	(void)raise(SIGTSTP);
	pthread_sigmask(SIG_SETMASK, &screen.mask, NULL); /* here it stops */
	pthread_sigmask(SIG_BLOCK, &screen.taken, NULL);
	(void)sigaction(SIGTSTP, &noting, NULL);
	enter();
}

/* Obeys the signals that came. True: all is to be drawn again. */
static bool obey(void)
{
	const bool stops = caught[SIGTSTP], resized = caught[SIGWINCH];

	caught[SIGTSTP] = caught[SIGWINCH] = 0;
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		if (caught[taken_signals[i]]) {
			screen_end();
			(void)signal(taken_signals[i], SIG_DFL);
			(void)raise(taken_signals[i]);
		}
	if (stops)
		stop();
	return stops || resized;
}

static const struct sequence {
	const char *text;
	int key;
} sequences[] = {
	{"\033[A", SCREEN_UP},
	{"\033[B", SCREEN_DOWN},
	{"\033[C", SCREEN_RIGHT},
	{"\033[D", SCREEN_LEFT},
	{"\033OA", SCREEN_UP},
	{"\033OB", SCREEN_DOWN},
	{"\033OC", SCREEN_RIGHT},
	{"\033OD", SCREEN_LEFT},
	{"\033[5~", SCREEN_PAGE_UP},
	{"\033[6~", SCREEN_PAGE_DOWN},
	{"\033[H", SCREEN_HOME},
	{"\033[F", SCREEN_END},
	{"\033OH", SCREEN_HOME},
	{"\033OF", SCREEN_END},
	{"\033[1~", SCREEN_HOME},
	{"\033[4~", SCREEN_END},
};

static void drop(size_t count)
{
	screen.key_count -= count;
	memmove(screen.keys, screen.keys + count, screen.key_count);
}

/* Bytes of an escape sequence, whatever it means; 0: it has not come whole. */
static size_t sequence_bytes(void)
{
	size_t at = 2;

	if (screen.key_count < 2)
		return 0;
	if (screen.keys[1] == 'O')
		return screen.key_count >= 3 ? 3 : 0;
	if (screen.keys[1] != '[')
		return 1; /* escape, then another key */
	while (at < screen.key_count && screen.keys[at] < 0x40)
		at++;
	return at < screen.key_count ? at + 1 : 0;
}

static bool read_keys(void)
{
	const ssize_t got =
		read(STDIN_FILENO, screen.keys + screen.key_count, sizeof(screen.keys) - screen.key_count);

	if (got <= 0)
		return got < 0 && (errno == EINTR || errno == EAGAIN);
	screen.key_count += (size_t)got;
	return true;
}

static int take_escape(void)
{
	struct pollfd rest = {.fd = STDIN_FILENO, .events = POLLIN};
	size_t bytes;

	while ((bytes = sequence_bytes()) == 0)
		if (screen.key_count == sizeof(screen.keys) || poll(&rest, 1, ESCAPE_MS) != 1 || !read_keys())
			break;
	for (size_t i = 0; bytes > 1 && i < sizeof(sequences) / sizeof(*sequences); i++)
		if (strlen(sequences[i].text) == bytes &&
			memcmp(sequences[i].text, screen.keys, bytes) == 0) {
			drop(bytes);
			return sequences[i].key;
		}
	if (bytes > 1) {
		drop(bytes);
		return SCREEN_OTHER;
	}
	drop(bytes ? 1 : screen.key_count);
	return SCREEN_ESCAPE;
}

static int take_key(void)
{
	const unsigned char key = screen.keys[0];

	if (key == '\033')
		return take_escape();
	drop(1);
	/* small numbers are events */
	return key == '\r' || key == '\n'  ? '\n'
	       : key == 127 || key == '\b' ? SCREEN_LEFT
	       : key >= ' ' && key < 127   ? key
					   : SCREEN_OTHER;
}

int screen_wait(int file, int timeout_ms)
{
	struct pollfd files[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = file, .events = POLLIN}};
	const struct timespec timeout = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
	int ready;

	if (screen.key_count > 0)
		return take_key();
	ready = ppoll(files, 2, &timeout, &screen.mask);
	if (obey())
		return SCREEN_CHANGED;
	if (ready < 0)
		return errno == EINTR ? SCREEN_TIME_OVER : SCREEN_GONE;
	if (files[0].revents) {
		if (!read_keys())
			return SCREEN_GONE;
		return screen.key_count ? take_key() : SCREEN_TIME_OVER;
	}
	return files[1].revents ? SCREEN_READY : SCREEN_TIME_OVER;
}
