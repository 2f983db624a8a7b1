/* pmanalyze agent: watches the ranks of a node, or a job, by one page of each trace, and serves that to
 * Prometheus. */
#include "agent_serve.h"
#include "analyses/fleet/fleet.h"
#include "analyses/hang/hang.h"
#include "base/output.h"
#include "cmd_common.h"
#include "live.h"
#include "output/exposition.h"
#include "output/prometheus.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPTION_LISTEN = OPTION_FIRST,
	OPTION_EVERY,
	OPTION_ONCE,
	OPTION_STAY,
	OPTION_NODE,
	OPTION_MERGE,
	OPTION_LABEL,
	OPTION_RANKS,
	OPTION_AFTER,
	OPTION_STRAGGLER,
	OPTION_ALERT,
};

enum { LASTING = 3 }; /* looks in a row that see the same straggler */

struct agent {
	const char *listen, *output, *node, *alert;
	double every_s, after_s;
	bool once, stay, merge;
	char **paths;
	size_t path_count;
	const char *job;
	struct fleet fleet;
	struct exposition page;
	struct hang hang; /* of the last time that nothing moved */
	bool has_hang, hang_said, straggler_said;
	double hang_look_s;  /* still_s from which the traces are read */
	size_t hang_running; /* ranks when they were read last */
	struct exposition_hang found;
	size_t straggler_looks, straggler_rank;
	struct arena arena; /* labels */
};

/* ---- options ---- */

static const char *add_label(struct agent *agent, const char *labels, const char *text)
{
	const char *equals = strchr(text, '=');
	bool good = equals && equals > text && !isdigit((unsigned char)*text);

	for (const char *at = text; good && at < equals; at++)
		good = isalnum((unsigned char)*at) || *at == '_';
	if (!good)
		cmd_usage(&cmd_agent, "--label %s: expected NAME=VALUE, NAME of letters, digits and _", text);
	if (strncmp(text, "job=", 4) == 0) {
		agent->job = equals + 1;
		return labels;
	}
	return arena_format(&agent->arena, "%s%s%.*s=\"%s\"", labels, *labels ? "," : "",
		(int)(equals - text), text, prometheus_value(&agent->arena, equals + 1));
}

static double ratio_of(const char *text)
{
	char *end;
	const double ratio = strtod(text, &end);

	if (end == text || *end || !(ratio > 1) || !isfinite(ratio))
		cmd_usage(&cmd_agent, "--straggler %s: expected a ratio above 1, such as 1.2", text);
	return ratio;
}

static void take_option(struct agent *agent, int key)
{
	switch (key) {
	case 'o':
		agent->output = optarg;
		break;
	case OPTION_LISTEN:
		agent->listen = optarg;
		break;
	case OPTION_EVERY:
		agent->every_s = (double)command_count(&cmd_agent, key, optarg, 1, 86400);
		break;
	case OPTION_ONCE:
		agent->once = true;
		break;
	case OPTION_STAY:
		agent->stay = true;
		break;
	case OPTION_NODE:
		agent->node = optarg;
		break;
	case OPTION_MERGE:
		agent->merge = true;
		break;
	case OPTION_LABEL:
		agent->page.labels = add_label(agent, agent->page.labels, optarg);
		break;
	case OPTION_RANKS:
		agent->page.ranks = true;
		break;
	case OPTION_AFTER:
		agent->after_s = (double)command_count(&cmd_agent, key, optarg, 1, 86400);
		break;
	case OPTION_STRAGGLER:
		agent->page.straggler = ratio_of(optarg);
		break;
	case OPTION_ALERT:
		agent->alert = optarg;
		break;
	default:
		command_unhandled(&cmd_agent, key);
	}
}

/* ---- alerts ---- */

/* The command gets the alert as one JSON object on its input; the next look waits for its end. One that does not read
 * it must not end the agent: see run(). */
static void send_alert(const struct agent *agent, const char *kind, const char *sentence)
{
	cJSON *object = cJSON_CreateObject();
	char *text;
	FILE *to;

	warnx("%s: %s", kind, sentence);
	cJSON_AddStringToObject(object, "alert", kind);
	cJSON_AddStringToObject(object, "job", agent->job);
	cJSON_AddStringToObject(object, "text", sentence);
	text = cJSON_PrintUnformatted(object);
	to = agent->alert ? popen(agent->alert, "we") : NULL;
	if (to) {
		fprintf(to, "%s\n", text);
		if (pclose(to) != 0)
			warnx("--alert-command: it failed");
	}
	free(text);
	cJSON_Delete(object);
}

static void forget_hang(struct agent *agent)
{
	if (agent->has_hang)
		hang_free(&agent->hang);
	free(agent->found.ranks);
	agent->found = (struct exposition_hang){0};
	agent->has_hang = false;
}

/* Why nothing moves, from the whole traces. Where that is not found it is looked for again when a process has
 * ended, or after twice the time: the traces say the same as before, but the system may say something else of
 * the processes. */
static void find_hang(struct agent *agent)
{
	hang_read(&agent->hang, agent->paths, agent->path_count);
	agent->has_hang = true;
	hang_find(&agent->hang, (int64_t)(1e9 * agent->after_s));
	agent->hang_look_s = 2 * agent->fleet.still_s;
	agent->hang_running = agent->fleet.running;
	if (!hang_is_found(&agent->hang))
		return;
	agent->found = (struct exposition_hang){.class_key = hang_class_key(agent->hang.class),
		.strength = hang_strength_word(agent->hang.strength),
		.ranks = mem_alloc(2 * agent->hang.culprit_count, sizeof(char *)),
		.rank_count = agent->hang.culprit_count};
	agent->found.hosts = agent->found.ranks + agent->hang.culprit_count;
	for (size_t i = 0; i < agent->hang.culprit_count; i++) {
		const struct hang_rank *rank = agent->hang.ranks[agent->hang.culprits[i].rank];

		agent->found.ranks[i] = rank->name;
		agent->found.hosts[i] = rank->trace.header.host;
	}
	if (!agent->hang_said)
		send_alert(agent, "hang", agent->hang.headline);
	agent->hang_said = true;
}

static void watch_hang(struct agent *agent)
{
	const bool still = agent->fleet.still_s >= agent->after_s;

	if (!still) {
		forget_hang(agent);
		agent->hang_said = false;
		agent->hang_look_s = 0;
	} else if (!agent->merge && !agent->found.class_key &&
		   (agent->fleet.still_s >= agent->hang_look_s ||
			   agent->fleet.running != agent->hang_running)) {
		forget_hang(agent);
		find_hang(agent);
	} else if (agent->merge && !agent->hang_said) {
		send_alert(agent, "hang",
			arena_format(&agent->fleet.arena, "no rank has made progress for %.0f s",
				agent->fleet.still_s));
		agent->hang_said = true;
	}
}

static void watch_straggler(struct agent *agent)
{
	const struct fleet *fleet = &agent->fleet;
	const bool slow = fleet->running > 0 && fleet->imbalance >= agent->page.straggler;
	const struct fleet_rank *rank = slow ? fleet->ranks[fleet->slowest] : NULL;

	agent->straggler_looks =
		slow && (agent->straggler_looks == 0 || agent->straggler_rank == fleet->slowest)
			? agent->straggler_looks + 1
			: slow;
	agent->straggler_rank = fleet->slowest;
	if (!slow)
		agent->straggler_said = false;
	if (agent->straggler_looks >= LASTING && !agent->straggler_said) {
		send_alert(agent, "straggler",
			arena_format(&agent->fleet.arena,
				"rank %d on %s: its kernels take %.2fx the mean of %zu ranks (%s a step vs %s)",
				rank->rank, rank->host, fleet->imbalance, fleet->count,
				print_time(&agent->fleet.arena, 1e9 * rank->compute_s),
				print_time(&agent->fleet.arena, 1e9 * fleet->compute_s)));
		agent->straggler_said = true;
	}
}

/* ---- looks ---- */

static void look(struct agent *agent)
{
	const double start_s = live_now_s();
	const size_t bad = agent->merge ? fleet_merge(&agent->fleet, agent->paths, agent->path_count) : 0;

	if (!agent->merge)
		fleet_look(&agent->fleet, agent->paths, agent->path_count);
	if (bad)
		warnx("%zu of the nodes' files could not be read", bad);
	agent->page.look_s = live_now_s() - start_s;
	agent->page.looks++;
	if (agent->page.looks == 1 && agent->fleet.count == 0)
		warnx("%s: no rank so far: expected %s", agent->paths[0],
			agent->merge ? "files that --node has written, *.pmnode" : "traces, *.pmtrace");
	agent->page.fleet = agent->fleet.count > 0 && !fleet_is_over(&agent->fleet) ? &agent->fleet : NULL;
	agent->page.job = agent->job;
	agent->page.hang = &agent->found;
	watch_hang(agent);
	watch_straggler(agent);
}

static char *page_text(const struct agent *agent, size_t *length)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, length);

	if (!stream)
		err(1, NULL);
	exposition_write(&agent->page, stream);
	if (fclose(stream) != 0)
		err(1, NULL);
	return text;
}

static void write_files(const struct agent *agent, const char *text, size_t length)
{
	int error = agent->output ? pm_output_write(agent->output, text, length) : 0;

	if (error < 0)
		errx(1, "%s: %s", agent->output, strerror(-error));
	if (agent->node) {
		cJSON *json = fleet_node(&agent->fleet);
		char *node = cJSON_PrintUnformatted(json);

		error = pm_output_write(agent->node, node, strlen(node));
		if (error < 0)
			errx(1, "%s: %s", agent->node, strerror(-error));
		free(node);
		cJSON_Delete(json);
	}
}

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

/* Looks until it is told to stop, or the job is over. */
static void watch(struct agent *agent, int file)
{
	bool over = false;

	while (!stopped && !over) {
		size_t length;
		char *text;

		look(agent);
		text = page_text(agent, &length);
		write_files(agent, text, length);
		if (agent->once && !agent->output && !agent->node)
			fwrite(text, 1, length, stdout);
		over = agent->once || (fleet_is_over(&agent->fleet) && !agent->stay);
		if (!over)
			(void)agent_serve(
				file, live_interval(agent->page.look_s, agent->every_s), text, length);
		free(text);
	}
	/* the series end with the job: what a collector would read for ever is taken away */
	if (agent->output && !agent->once)
		(void)unlink(agent->output);
}

static int run_agent(int argument_count, char **arguments)
{
	struct agent agent = {.every_s = 5, .after_s = 60, .page = {.labels = "", .straggler = 1.2}};
	struct sigaction action = {.sa_handler = stop};
	unsigned port = 0;
	int file = -1;

	for (int key; (key = command_option(&cmd_agent, argument_count, arguments)) != -1;)
		take_option(&agent, key);
	if (optind >= argument_count)
		cmd_usage(&cmd_agent, "no run given");
	agent.paths = arguments + optind;
	agent.path_count = (size_t)(argument_count - optind);
	if (!agent.job)
		agent.job = live_label(&agent.arena, agent.paths[0]);
	if (!agent.listen && !agent.output && !agent.node && !agent.once)
		cmd_usage(&cmd_agent,
			"no destination: add --listen 127.0.0.1:9462, --output FILE, --node FILE or --once");
	for (size_t i = 0; i < agent.path_count; i++)
		if (access(agent.paths[i], R_OK) != 0 && !(agent.stay && errno == ENOENT))
			err(1, "%s", agent.paths[i]);
	if (agent.listen && (file = agent_listen(agent.listen, &port)) < 0)
		errx(errno == EINVAL ? 2 : 1, "--listen %s: %s", agent.listen,
			errno == EINVAL ? "expected ADDRESS:PORT, such as 127.0.0.1:9462" : strerror(errno));
	if (file >= 0)
		warnx("http port %u: /metrics", port);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	live_be_polite();
	watch(&agent, file);
	forget_hang(&agent);
	fleet_free(&agent.fleet);
	arena_free(&agent.arena);
	if (file >= 0)
		close(file);
	return 0;
}

static const struct option_row rows[] = {
	{"listen", OPTION_LISTEN, "ADDRESS:PORT",
		"serve /metrics over HTTP at this IPv4 address; with port 0 at a free port, which is printed (default: off)"},
	{"output", 'o', "FILE",
		"write the same to FILE, replaced atomically, and removed at the end (default: off)"},
	{"once", OPTION_ONCE, NULL,
		"look once and exit; without --output and --node, print to standard output"},
	{"every", OPTION_EVERY, "SECONDS", "time between looks (default: 5)"},
	{"stay", OPTION_STAY, NULL, "wait for RUN where it does not exist yet, and keep running after the job's end, for the next job in the same folder"},
	{"node", OPTION_NODE, "FILE",
		"write the node's ranks to FILE, whose name ends in .pmnode, for --merge (default: off)"},
	{"merge", OPTION_MERGE, NULL,
		"RUN... are such files, or folders of them: one job on many nodes; hangs are detected there, but not explained"},
	{"label", OPTION_LABEL, "NAME=VALUE",
		"a label added to all series (default: job=FOLDER, the folder's name)"},
	{"ranks", OPTION_RANKS, NULL, "also a series per rank: steps, step time and kernel time"},
	{"after", OPTION_AFTER, "SECONDS",
		"check for a hang when no rank has made progress for this long (default: 60)"},
	{"straggler", OPTION_STRAGGLER, "RATIO",
		"report a rank as a straggler when its kernels take RATIO times the mean (default: 1.2)"},
	{"alert-command", OPTION_ALERT, "COMMAND",
		"shell command to run when a hang or a straggler (in 3 consecutive looks) begins, with {\"alert\": KIND, \"job\": NAME, "
		"\"text\": SENTENCE} on its input (default: none)"},
	{0},
};

const struct command cmd_agent = {
	.name = "agent",
	.summary = "watch a live job of any size: one page of each trace, for Prometheus",
	.usage = "[OPTION]... RUN...",
	.about =
		"Looks at all ranks again and again by one page of each trace, in which the hook keeps its own figures: steps, "
		"calls, device time. 10,000 ranks take less than a second. The figures are coarser than those of `metrics` and "
		"`top` of few ranks, which read all records: steps are what repeats in one thread's calls, and there are no phases. When no "
		"rank moves the whole traces are read once, as `hang` does.\n"
		"\n"
		"The agent ends with the job, and its series with it. It needs no rights but to read the folder.\n",
	.options = OPTION_TABLES(rows),
	.after =
		"Example:\n"
		"  pmanalyze agent --listen 127.0.0.1:9462 run\n"
		"\n"
		"Exit status: 0 the job has ended, or a signal came, 1 it cannot be read or served, 2 usage error.\n",
	.data = true,
	.run = run_agent,
};
