/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cover of expat's callbacks. The path of where the reader stands is one text, which grows at the
 * start of an element and shrinks at its end. When it is told to stop, expat may still call for the
 * end of the element that it is in (XML_StopParser).
 */
#include "web/s3xml.h"

#include <errno.h>
#include <expat.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/printable.h"

struct reading {
	XML_Parser parser;
	s3xml_element_fn element;
	void *userdata;
	char path[S3XML_PATH_MAX];
	size_t path_len;
	unsigned depth;
	char text[S3XML_TEXT_MAX];
	size_t text_len;
	int result;
};

static void stop(struct reading *r, int result)
{
	r->result = result;
	(void) XML_StopParser(r->parser, XML_FALSE);
}

static void start_cb(void *userdata, const XML_Char *name, const XML_Char **attributes UNUSED)
{
	struct reading *r = userdata;
	size_t len = strlen(name);

	if (r->result < 0)
		return;
	if (r->depth == S3XML_DEPTH_MAX || r->path_len + 1 + len >= sizeof(r->path)) {
		stop(r, -EBADMSG);
		return;
	}
	if (r->depth > 0)
		r->path[r->path_len++] = '/';
	memcpy(r->path + r->path_len, name, len + 1);
	r->path_len += len;
	r->depth++;
	r->text_len = 0;
}

static void text_cb(void *userdata, const XML_Char *text, int len)
{
	struct reading *r = userdata;

	if (r->result < 0)
		return;
	if (r->text_len + (size_t) len >= sizeof(r->text)) {
		stop(r, -EBADMSG);
		return;
	}
	memcpy(r->text + r->text_len, text, (size_t) len);
	r->text_len += (size_t) len;
}

static void end_cb(void *userdata, const XML_Char *name)
{
	struct reading *r = userdata;
	int result;

	if (r->result < 0)
		return;
	r->text[r->text_len] = '\0';
	result = r->element(r->path, r->text, r->userdata);
	if (result < 0) {
		stop(r, result);
		return;
	}
	r->path_len -= strlen(name);
	r->depth--;
	if (r->depth > 0)
		r->path_len--;
	r->path[r->path_len] = '\0';
	r->text_len = 0;
}

static void doctype_cb(void *userdata, const XML_Char *name UNUSED, const XML_Char *sysid UNUSED,
                       const XML_Char *pubid UNUSED, int has_internal_subset UNUSED)
{
	stop(userdata, -EBADMSG);
}

int s3xml_parse(const char *data, size_t len, s3xml_element_fn element, void *userdata)
{
	struct reading r = {.element = element, .userdata = userdata};
	enum XML_Status status;

	/* Servers send white space while they have nothing to say yet, some even before the document.
	 */
	while (len > 0 && strchr(" \t\r\n", *data) != NULL && *data != '\0') {
		data++;
		len--;
	}
	if (len > INT32_MAX)
		return -EBADMSG;
	r.parser = XML_ParserCreate(NULL);
	if (r.parser == NULL)
		return -ENOMEM;
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, start_cb, end_cb);
	XML_SetCharacterDataHandler(r.parser, text_cb);
	XML_SetStartDoctypeDeclHandler(r.parser, doctype_cb);
	status = XML_Parse(r.parser, data, (int) len, XML_TRUE);
	XML_ParserFree(r.parser);
	if (r.result < 0)
		return r.result;
	return status == XML_STATUS_OK ? 0 : -EBADMSG;
}

/* --- <Error> --- */

struct error_texts {
	bool found;
	char *code;
	size_t code_size;
	char *message;
	size_t message_size;
};

static void put_visible(char *out, size_t size, const char *text)
{
	(void) snprintf(out, size, "%s", text);
	printable_ascii(out);
}

static int error_element(const char *path, const char *text, void *userdata)
{
	struct error_texts *e = userdata;

	if (strcmp(path, "Error/Code") == 0)
		put_visible(e->code, e->code_size, text);
	else if (strcmp(path, "Error/Message") == 0)
		put_visible(e->message, e->message_size, text);
	else if (strcmp(path, "Error") == 0)
		e->found = true;
	return 0;
}

int s3xml_parse_error(const char *data, size_t len, char *ret_code, size_t code_size,
                      char *ret_message, size_t message_size)
{
	struct error_texts e = {false, ret_code, code_size, ret_message, message_size};
	int r;

	ret_code[0] = '\0';
	ret_message[0] = '\0';
	r = s3xml_parse(data, len, error_element, &e);
	if (r < 0)
		return r;
	return e.found ? 0 : -ENOMSG;
}
