/* What clients of the IPC socket and the web page say, and what they are answered: a JSON object a line, in mpv's form.
 *
 *   {"command": ["get_property", NAME], "request_id": 3}         -> {"request_id": 3, "error": "success", "data":
 * VALUE}
 *   {"command": ["set_property", NAME, VALUE]}                   refuses what is out of range, in "error"
 *   {"command": ["add", NAME, NUMBER]}                           so much more, to the end of the range
 *   {"command": ["cycle", NAME]}                                 a switch turned over, a choice's next
 *   {"command": ["observe_property", ID, NAME]}                  {"event": "property-change", "id": ID, "name": NAME,
 *                                                                "data": VALUE}, now and whenever it changes
 *   {"command": ["unobserve_property", ID]}
 *   {"command": [COMMAND]} or [COMMAND, NUMBER]                  one of the live window's keys
 *
 * Names are those of the parameter table (prompt[2]), "figures/fps" and others of struct hub_figures, "figures" for
 * all of them, "parameter-list" and "command-list" for what there is.
 *
 * One thread at a time uses a client. */
#ifndef APP_REMOTE_MESSAGES_H
#define APP_REMOTE_MESSAGES_H

#include "app/remote/properties.h"

enum {
  MESSAGE_LINE_MAX = 16384,      /* bytes of a line that comes */
  MESSAGE_DEPTH_MAX = 8,         /* brackets within each other */
  MESSAGE_WATCHES_MAX = 512,     /* properties that one client observes */
  MESSAGE_BACKLOG_MAX = 1 << 20, /* bytes of lines that wait to be sent */
};

/* Lines on their way to a client. Zero-initialise to start. */
struct message_lines {
  char *text; /* owned */
  size_t used, room;
  bool lost; /* something did not fit */
};

void message_lines_sent(struct message_lines *lines, size_t bytes); /* the first ones have gone */
void message_lines_free(struct message_lines *lines);

struct messages;

int messages_open(struct messages **messages, struct hub *hub, struct error *err);
void messages_close(struct messages **messages); /* stores NULL; takes NULL */

/* Answers a line, without its end, with one. */
void messages_answer(struct messages *messages, const char *line, size_t length, struct message_lines *answers);
/* A line that says what was refused. */
void messages_refuse(const struct error *why, struct message_lines *answers);

bool messages_observes(const struct messages *messages);
/* A line for each property observed that has another value than this client was told last. */
void messages_tell(struct messages *messages, const struct message_view *view, struct message_lines *lines);

#endif
