/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The skeleton of a daemon's process (service.h). Owns the loop, the port for metrics and the
 * control socket; the daemon, which uses them, is destroyed before the loop and after the socket.
 */
#include "base/service.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"

/* --- the command line --- */

#define HELP_COLUMN 28

enum { OPT_OWN = 256, OPT_LOG_LEVEL = OPT_OWN + OPTIONS_OWN_MAX, OPT_VERSION };

static const struct option common_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"log-level", required_argument, NULL, OPT_LOG_LEVEL},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
};

static size_t count_own(const struct options_own *own)
{
	size_t n = 0;

	while (own[n].name != NULL)
		n++;
	return n;
}

static void print_option(const char *lead, const struct options_own *o)
{
	int column = printf("  %s--%s%s%s", lead, o->name, o->value != NULL ? " " : "",
	                    o->value != NULL ? o->value : "");

	for (const char *line = o->help;; column = 0) {
		const char *end = strchrnul(line, '\n');

		(void) printf("%*s%.*s\n", HELP_COLUMN - column, "", (int) (end - line), line);
		if (*end == '\0')
			return;
		line = end + 1;
	}
}

static void print_help(const struct options_about *about)
{
	(void) printf("Usage: %s [OPTION]...\n%s\n\n", about->program, about->summary);
	print_option("-c, ",
	             &(struct options_own){"config", "PATH",
	                                   "file, or directory of *.yaml files; may be repeated\n"
	                                   "(default: /etc/fairlead/config.yaml, /etc/fairlead/conf.d)",
	                                   NULL, NULL});
	for (const struct options_own *own = about->own; own->name != NULL; own++)
		print_option("    ", own);
	print_option("    ", &(struct options_own){"log-level", "LEVEL",
	                                           "error, warning, notice, info (default) or debug",
	                                           NULL, NULL});
	print_option("    ",
	             &(struct options_own){"version", NULL, "print the version and exit", NULL, NULL});
	print_option("-h, ", &(struct options_own){"help", NULL, "print this and exit", NULL, NULL});
	(void) printf("\n%s\n", about->closing);
}

static int add_path(const struct options_about *about, const char *path, struct options *options)
{
	if (options->n_config_paths == OPTIONS_CONFIG_PATHS_MAX) {
		(void) fprintf(stderr, "%s: more than %d --config\n", about->program,
		               OPTIONS_CONFIG_PATHS_MAX);
		return -EINVAL;
	}
	options->config_paths[options->n_config_paths++] = path;
	return 0;
}

static int set_log_level(const struct options_about *about, const char *word)
{
	enum log_level level;

	if (log_level_parse(word, &level) < 0) {
		(void) fprintf(stderr, "%s: --log-level: no such level: '%s'\n", about->program, word);
		return -EINVAL;
	}
	log_set_level(level);
	return 0;
}

static int take_option(const struct options_about *about, int option, struct options *options)
{
	const struct options_own *own;

	switch (option) {
	case 'c':
		return add_path(about, optarg, options);
	case OPT_LOG_LEVEL:
		return set_log_level(about, optarg);
	case OPT_VERSION:
		(void) printf("%s (fairlead) %s\n", about->program, FAIRLEAD_VERSION);
		return 1;
	case 'h':
		print_help(about);
		return 1;
	case '?':
		(void) fprintf(stderr, "Try '%s --help'.\n", about->program);
		return -EINVAL;
	default:
		own = &about->own[option - OPT_OWN];
		if (own->value != NULL)
			*own->text = optarg;
		else
			*own->flag = true;
		return 0;
	}
}

/* 0 to go on; 1 when all is said (--help, --version); -EINVAL on bad usage, which is on stderr. The
 * log level is in force afterwards. */
static int parse_command_line(const struct options_about *about, int argc, char **argv,
                              struct options *ret_options)
{
	struct option table[ARRAY_SIZE(common_options) + OPTIONS_OWN_MAX + 1] = {0};
	size_t n_own = MIN(count_own(about->own), (size_t) OPTIONS_OWN_MAX);
	int option, r;

	*ret_options = (struct options){0};
	memcpy(table, common_options, sizeof(common_options));
	for (size_t i = 0; i < n_own; i++) {
		table[ARRAY_SIZE(common_options) + i] = (struct option){
		    .name = about->own[i].name,
		    .has_arg = about->own[i].value != NULL ? required_argument : no_argument,
		    .val = OPT_OWN + (int) i,
		};
	}
	while ((option = getopt_long(argc, argv, "c:h", table, NULL)) != -1) {
		r = take_option(about, option, ret_options);
		if (r != 0)
			return r;
	}
	if (optind < argc) {
		(void) fprintf(stderr, "%s: unexpected argument: '%s'\n", about->program, argv[optind]);
		return -EINVAL;
	}
	return 0;
}

/* --- the command line --- */

char *service_beside(const struct service *s, const char *name)
{
	return xasprintf("%.*s%s", (int) (strrchr(s->self, '/') + 1 - s->self), s->self, name);
}

/* 0 to go on; 1 when all is said; -EINVAL on bad usage, which is reported. */
static int parse_options(struct service *s, int argc, char **argv)
{
	const struct service_ops *ops = s->ops;
	struct options_own own[OPTIONS_OWN_MAX + 1] = {ops->runtime_dir};
	size_t n = 1;

	own[0].text = &s->runtime_dir;
	if (ops->helper != NULL) {
		own[n] = ops->helper->option;
		own[n++].text = &s->helper;
	}
	if (ops->load != NULL) {
		own[n++] = (struct options_own){
		    "check", NULL, "read the configuration, print every error, and exit", NULL, &s->check};
		own[n++] = (struct options_own){"print", NULL,
		                                "print it with all that it leaves to defaults, and exit",
		                                NULL, &s->print};
	}
	for (const struct options_own *o = ops->own; o != NULL && o->name != NULL; o++)
		own[n++] = *o;
	return parse_command_line(
	    &(struct options_about){ops->program, ops->summary, ops->closing, own}, argc, argv,
	    &s->options);
}

/* --- the configuration --- */

static int load(const struct service *s, conf_message_fn error, struct config **ret_config)
{
	return s->ops->load(s->options.config_paths, s->options.n_config_paths, error, NULL,
	                    ret_config);
}

static int load_and_try(const struct service *s, conf_message_fn error, struct config **ret_config)
{
	struct config *config = NULL;
	int r;

	r = load(s, error, &config);
	if (r == 0 && s->ops->try != NULL)
		r = s->ops->try(config, error);
	if (r == 0 && s->ops->look != NULL)
		r = s->ops->look(config, error, NULL);
	if (r < 0)
		s->ops->free_config(config);
	else
		*ret_config = config;
	return r;
}

int service_load_next(const struct service *s, struct config **ret_config)
{
	int r = load_and_try(s, conf_message_log, ret_config);

	if (r < 0)
		log_error("reload_refused",
		          "reason=\"the configuration has errors; the running one stays\"");
	return r;
}

int service_print(const struct service *s, void (*print)(const struct config *config, FILE *out))
{
	struct config *config = NULL;

	if (load(s, conf_message_print, &config) < 0)
		return EXIT_FAILURE;
	print(config, stdout);
	s->ops->free_config(config);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int check(const struct service *s)
{
	const struct conf_strings *notes;
	struct config *config = NULL;

	if (load_and_try(s, conf_message_print, &config) < 0)
		return EXIT_FAILURE;
	if (s->helper != NULL && access(s->helper, X_OK) < 0) {
		(void) fprintf(stderr, "%s: %s: %s\n", s->ops->program, s->helper, strerror(errno));
		s->ops->free_config(config);
		return EXIT_FAILURE;
	}
	notes = s->ops->notes(config);
	for (size_t i = 0; i < notes->n; i++)
		(void) printf("note: %s\n", notes->items[i]);
	s->ops->print_checked(config);
	s->ops->free_config(config);
	return EXIT_SUCCESS;
}

/* What the daemon begins with, or NULL. 0; or the exit code. */
static int load_first(struct service *s, struct config **ret_config)
{
	const struct conf_strings *notes;

	if (s->ops->load == NULL)
		return 0;
	if (load(s, conf_message_log, ret_config) < 0 && s->ops->load_other != NULL)
		*ret_config = s->ops->load_other();
	if (*ret_config == NULL)
		return EXIT_CONFIG;
	if (s->ops->look != NULL && s->ops->look(*ret_config, conf_message_log, NULL) < 0) {
		s->ops->free_config(*ret_config);
		return EXIT_FAILURE;
	}
	notes = s->ops->notes(*ret_config);
	for (size_t i = 0; i < notes->n; i++)
		log_info("config_note", "reason=\"%s\"", notes->items[i]);
	return 0;
}

/* --- the control socket --- */

int service_serve(struct service *s, const struct control_command *commands, size_t n_commands,
                  void *userdata)
{
	AUTO(free) char *path = xasprintf("%s/%s.sock", s->runtime_dir, s->ops->program);
	int r;

	r = control_new(loop_ev(s->loop), path, "fairlead", commands, n_commands, userdata,
	                &s->control);
	if (r == 0)
		control_add_metrics(s->control, s->metrics_port);
	return r;
}

/* --- running --- */

static void on_stop(int signo, void *userdata)
{
	const struct service *s = userdata;

	log_info("signal", "signal=%s", strsignal(signo));
	if (s->ops->stop != NULL)
		s->ops->stop(s->daemon);
	else
		loop_stop(s->loop, EXIT_SUCCESS);
}

static void on_reload(int signo UNUSED, void *userdata)
{
	const struct service *s = userdata;

	s->ops->reload(s->daemon);
}

static void on_leave(int signo UNUSED, void *userdata)
{
	const struct service *s = userdata;

	s->ops->leave(s->daemon);
}

static void fill_metrics(struct metrics *m, void *userdata)
{
	const struct service *s = userdata;

	s->ops->metrics(m, s->daemon);
}

/* Until the end, or until the daemon is to be freed and the program executed again. */
static int run_loop(struct service *s, bool *ret_exec)
{
	for (;;) {
		int code;

		loop_hold_signals(false);
		code = loop_run(s->loop);
		loop_hold_signals(true);
		*ret_exec = s->ops->wants_exec != NULL && s->ops->wants_exec(s->daemon);
		if (!*ret_exec || s->ops->exec == NULL)
			return code;
		s->ops->exec(s->daemon);
	}
}

static int run(struct service *s, struct config *config, bool *ret_exec)
{
	AUTO(loop_free) struct loop *loop = NULL;
	int r;

	r = loop_new(&loop);
	if (r < 0) {
		if (config != NULL)
			s->ops->free_config(config);
		(void) log_error_errno(r, "loop_failed", "reason=\"cannot make the event loop\"");
		return EXIT_FAILURE;
	}
	s->loop = loop;
	s->metrics_port = metricsport_new(loop_ev(loop), fill_metrics, s);
	r = s->ops->create(s, config, &s->daemon);
	if (r == 0) {
		loop_on_signal(loop, SIGTERM, on_stop, s);
		loop_on_signal(loop, SIGINT, on_stop, s);
		loop_on_signal(loop, SIGHUP, on_reload, s);
		if (s->ops->leave != NULL)
			loop_on_signal(loop, SIGUSR2, on_leave, s);
		r = run_loop(s, ret_exec);
	}
	control_free(s->control);
	if (s->daemon != NULL)
		s->ops->destroy(s->daemon);
	metricsport_free(s->metrics_port);
	return r < 0 ? EXIT_FAILURE : r;
}

static int run_daemon(struct service *s)
{
	struct config *config = NULL;
	bool exec = false;
	int code;

	if (s->ops->begin != NULL)
		s->ops->begin();
	if (mkdir(s->runtime_dir, 0755) < 0 && errno != EEXIST) {
		(void) log_error_errno(-errno, "runtime_dir_failed", "dir=%s", s->runtime_dir);
		if (s->ops->needs_runtime_dir)
			return EXIT_FAILURE;
	}
	loop_hold_signals(true);
	code = load_first(s, &config);
	if (code != 0)
		return code;
	code = run(s, config, &exec);
	if (!exec)
		return code;
	(void) execv(s->self, s->argv);
	(void) log_error_errno(-errno, "exec_failed", "path=%s", s->self);
	return EXIT_FAILURE;
}

int service_main(const struct service_ops *ops, int argc, char **argv)
{
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	AUTO(free) char *beside = NULL;
	struct service s = {
	    .ops = ops, .runtime_dir = ops->runtime_dir_path, .self = self, .argv = argv};
	int r;

	if (self != NULL && ops->helper != NULL)
		s.helper = beside = service_beside(&s, ops->helper->program);
	r = parse_options(&s, argc, argv);
	if (r != 0)
		return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	if (self == NULL) {
		(void) fprintf(stderr, "%s: /proc is needed\n", ops->program);
		return EXIT_FAILURE;
	}
	if (s.check)
		return check(&s);
	if (s.print)
		return service_print(&s, ops->print);
	r = ops->mode != NULL ? ops->mode(&s) : -1;
	return r >= 0 ? r : run_daemon(&s);
}
