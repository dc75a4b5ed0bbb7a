/* SPDX-License-Identifier: Apache-2.0 */
/* An attempt that fails keeps the good answer before it: its panel is marked as old, and goes on
 * showing what was so. */
#include "cli/top/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/common/fields.h"

static void drop_last(struct model_source *source)
{
	if (source->last.answer != source->good)
		client_answer_free(source->last.answer);
	source->last = (struct node_reply){0};
}

void model_fini(struct model *model)
{
	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		drop_last(&model->sources[i]);
		client_answer_free(model->sources[i].good);
	}
	for (size_t i = 0; i < model->n_samples; i++)
		free(model->samples[i].upstream);
	free(model->samples);
	events_fini(&model->events);
	*model = (struct model){0};
}

/* --- round-trip times --- */

static struct model_samples *samples_for(struct model *model, const char *upstream)
{
	for (size_t i = 0; i < model->n_samples; i++) {
		if (strcmp(model->samples[i].upstream, upstream) == 0)
			return &model->samples[i];
	}
	model->samples = xreallocarray(model->samples, model->n_samples + 1, sizeof(*model->samples));
	model->samples[model->n_samples] = (struct model_samples){.upstream = xstrdup(upstream)};
	return &model->samples[model->n_samples++];
}

static void add_sample(struct model_samples *samples, const json_t *rtt_ms)
{
	if (samples->n == MODEL_SAMPLES) {
		memmove(samples->ms, samples->ms + 1, (MODEL_SAMPLES - 1) * sizeof(samples->ms[0]));
		samples->n--;
	}
	samples->ms[samples->n++] = json_is_number(rtt_ms) ? json_number_value(rtt_ms) : -1;
	samples->is_named = true;
}

static void take_samples(struct model *model, const json_t *objects)
{
	const json_t *object;
	size_t i, kept = 0;

	for (i = 0; i < model->n_samples; i++)
		model->samples[i].is_named = false;
	json_array_foreach(objects, i, object)
	{
		const char *name = field_text(object, "upstream");

		if (name != NULL)
			add_sample(samples_for(model, name), json_object_get(object, "rtt_ms"));
	}
	for (i = 0; i < model->n_samples; i++) {
		if (model->samples[i].is_named)
			model->samples[kept++] = model->samples[i];
		else
			free(model->samples[i].upstream);
	}
	model->n_samples = kept;
}

const struct model_samples *model_samples_of(const struct model *model, const char *upstream)
{
	for (size_t i = 0; i < model->n_samples; i++) {
		if (strcmp(model->samples[i].upstream, upstream) == 0)
			return &model->samples[i];
	}
	return NULL;
}

/* --- answers --- */

/* The question that speaks for its daemon: one that needs nobody else to be answered. */
static bool speaks_for_daemon(enum node_question question)
{
	return question == NODE_VIP || question == NODE_PRISM || question == NODE_HEALTH ||
	       question == NODE_NET;
}

const char *model_trouble(const struct model *model, enum node_question question)
{
	const struct model_source *source = &model->sources[question];

	if (!source->is_told)
		return "asking";
	if (source->last.answer != NULL && source->last.answer->error != NULL)
		return source->last.answer->sentence;
	switch (-source->last.r) {
	case 0:
		return "";
	case ENOENT:
		return "does not run here";
	case ESRCH:
		return "does not run, and should";
	case ECONNREFUSED:
		return "does not run any more";
	case ETIMEDOUT:
		return "does not answer";
	case EBADMSG:
		return "has stopped in the middle of its answer";
	case EACCES:
		return "is not for this user";
	default:
		return strerror(-source->last.r);
	}
}

bool model_is_stale(const struct model *model, enum node_question question)
{
	const struct model_source *source = &model->sources[question];

	return source->good != NULL && node_objects(&source->last) == NULL;
}

bool model_is_missing(const struct model *model, enum node_question question)
{
	const struct model_source *source = &model->sources[question];

	return source->good == NULL && source->is_told && !node_is_none(&source->last);
}

/* What was there before is not old, but gone. */
static void drop_good(struct model_source *source)
{
	client_answer_free(source->good);
	source->good = NULL;
}

void model_take(struct model *model, enum node_question question, int r,
                struct client_answer *answer, int64_t now_us, int64_t wall_us)
{
	struct model_source *source = &model->sources[question];
	const char *daemon = node_questions[question].daemon;
	bool was_stale = model_is_stale(model, question);

	drop_last(source);
	source->is_told = true;
	source->last = (struct node_reply){.r = r, .answer = answer};
	if (node_objects(&source->last) == NULL) {
		if (!was_stale && source->good != NULL && speaks_for_daemon(question))
			events_add(&model->events, wall_us, BOARD_FAILED, "%s: %s", daemon,
			           model_trouble(model, question));
		if (node_is_none(&source->last))
			drop_good(source);
		return;
	}
	if (was_stale && speaks_for_daemon(question))
		events_add(&model->events, wall_us, BOARD_OK, "%s: answers again", daemon);
	events_compare(&model->events, question, model_objects(model, question), answer->objects,
	               wall_us);
	client_answer_free(source->good);
	source->good = answer;
	source->good_us = now_us;
	if (question == NODE_PRISM)
		take_samples(model, answer->objects);
}

const json_t *model_objects(const struct model *model, enum node_question question)
{
	return model->sources[question].good != NULL ? model->sources[question].good->objects : NULL;
}

bool model_is_told(const struct model *model)
{
	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		if (!model->sources[i].is_told)
			return false;
	}
	return true;
}

void model_fill_board(const struct model *model, struct board *board, int64_t wall_us)
{
	struct node_reply replies[NODE_QUESTIONS];

	for (size_t i = 0; i < NODE_QUESTIONS; i++)
		replies[i] = model->sources[i].last;
	board_fill(board, replies, wall_us);
}
