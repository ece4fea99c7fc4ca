/* The protocol of the IPC socket and the web page: one JSON object in each line, in the form that mpv has. Requests and
 * their answers:
 *
 *   {"command": ["get_property", NAME], "request_id": 3}
 *                                            {"request_id": 3, "error": "success", "data": VALUE}
 *   {"command": ["set_property", NAME, VALUE]}
 *                                            sets; "error" has the reason if the value is refused
 *   {"command": ["add", NAME, NUMBER]}       adds to a number, up to the end of its range
 *   {"command": ["cycle", NAME]}             turns a switch over, or takes a choice's next value
 *   {"command": ["observe_property", ID, NAME]}
 *                                            {"event": "property-change", "id": ID, "name": NAME, "data": VALUE},
 *                                            now and whenever the value changes
 *   {"command": ["unobserve_property", ID]}
 *   {"command": [COMMAND]} or [COMMAND, NUMBER]
 *                                            runs a command of the live window
 *
 * NAME is a parameter's (prompt[2]), "figures/fps" or another one of struct hub_figures, "figures" for all figures,
 * "parameter-list" or "command-list".
 *
 * Each client has a struct messages, which one thread at a time may use. */
#ifndef APP_REMOTE_MESSAGES_H
#define APP_REMOTE_MESSAGES_H

#include "app/remote/properties.h"

enum {
  MESSAGE_LINE_MAX = 16384,      /* bytes of a received line */
  MESSAGE_DEPTH_MAX = 8,         /* depth of nested brackets */
  MESSAGE_WATCHES_MAX = 512,     /* properties that one client may observe */
  MESSAGE_BACKLOG_MAX = 1 << 20, /* bytes of lines that may wait to be sent */
};

/* Lines that wait to be sent to a client. Initialise with zeros; the caller frees it with message_lines_free. */
struct message_lines {
  char *text;
  size_t used, room;
  bool lost; /* a line did not fit, or there was no memory; nothing can be added any more */
};

/* Removes the first bytes, which have been sent. */
void message_lines_sent(struct message_lines *lines, size_t bytes);
/* Frees the lines and leaves zeros behind. */
void message_lines_free(struct message_lines *lines);

struct messages;

/* Makes the state of one client. The hub must outlive it. */
int messages_open(struct messages **messages, struct hub *hub, struct error *err);
void messages_close(struct messages **messages); /* stores NULL; takes NULL */

/* Answers a received line, given without its end, by adding one line to answers. */
void messages_answer(struct messages *messages, const char *line, size_t length, struct message_lines *answers);
/* Adds a line that tells why a client is refused. */
void messages_refuse(const struct error *why, struct message_lines *answers);

/* Returns true if the client observes a property. */
bool messages_observes(const struct messages *messages);
/* Adds a line for each observed property whose value has changed since this client was last told. */
void messages_tell(struct messages *messages, const struct message_view *view, struct message_lines *lines);

#endif
