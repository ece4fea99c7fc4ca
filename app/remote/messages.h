/* The protocol of the IPC socket and the web page: one JSON object in each line, as in the protocol of the player mpv.
 * Requests and their answers:
 *
 *   {"command": ["get_property", NAME], "request_id": 3}
 *                                            {"request_id": 3, "error": "success", "data": VALUE}
 *   {"command": ["set_property", NAME, VALUE]}
 *                                            sets; "error" has the reason if the value is refused
 *   {"command": ["add", NAME, NUMBER]}       adds to a number, up to the end of its range
 *   {"command": ["cycle", NAME]}             turns a switch on or off, or sets a choice to its next word
 *   {"command": ["observe_property", ID, NAME]}
 *                                            {"event": "property-change", "id": ID, "name": NAME, "data": VALUE},
 *                                            now and whenever the value changes
 *   {"command": ["unobserve_property", ID]}
 *   {"command": [COMMAND]} or [COMMAND, NUMBER]
 *                                            runs a command of the live window
 *
 * NAME is the name of a parameter (prompt[2]); "figures/fps" or another measured value in struct hub_figures, or
 * "figures" for all of them; "parameter-list" or "command-list", which do not change; "scene-list" (the saved presets),
 * "midi-list" (the bindings of MIDI) or "refusal-list" (parameters that the model refuses, and why), which are null
 * where there is no such list.
 *
 * Each client has a struct messages, which one thread at a time may use. */
#ifndef APP_REMOTE_MESSAGES_H
#define APP_REMOTE_MESSAGES_H

#include "app/remote/properties.h"

enum {
  MESSAGE_LINE_MAX = 16384,      /* largest number of bytes of one request, without its newline */
  MESSAGE_DEPTH_MAX = 8,         /* how deep brackets may be nested in a request */
  MESSAGE_WATCHES_MAX = 512,     /* largest number of properties that a client may observe at the same time */
  MESSAGE_BACKLOG_MAX = 1 << 20, /* largest number of bytes that may wait to be sent to the client */
};

/* Lines that wait to be sent to one client. Initialise with zeros; free with message_lines_free. */
struct message_lines {
  char *text;
  size_t used, room;
  bool lost; /* true: a line was lost because it did not fit or memory was short; no further lines are accepted */
};

/* Removes the first `bytes` bytes of the waiting text, after the caller has sent them. */
void message_lines_sent(struct message_lines *lines, size_t bytes);
/* Frees the lines' text and zeroes the struct. */
void message_lines_free(struct message_lines *lines);

struct messages;

/* Allocates the state of one client, such as the properties that it observes. The caller frees the state with
 * messages_close. hub is borrowed and must outlive *messages. Returns 0, or -1 with err set. */
int messages_open(struct messages **messages, struct hub *hub, struct error *err);
/* Frees the client's state; *messages becomes NULL. Does nothing if *messages is NULL. */
void messages_close(struct messages **messages);

/* Carries out a client's request (one line without its newline, of `length` bytes), and appends its answer as one line
 * to `answers`. */
void messages_answer(struct messages *messages, const char *line, size_t length, struct message_lines *answers);
/* Appends a line that tells a client why its connection is refused. */
void messages_refuse(const struct error *why, struct message_lines *answers);

/* True if the client observes at least one property. */
bool messages_observes(const struct messages *messages);
/* Appends a line with the event "property-change" for each observed property whose value differs from the value that
 * was last sent to this client. view: the present values and figures (measured values). */
void messages_tell(struct messages *messages, const struct message_view *view, struct message_lines *lines);

#endif
