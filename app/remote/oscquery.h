/* Answers queries of OSCQuery, by which programs find the addresses of OSC, their types, values and ranges: JSON over
 * HTTP, as the OSCQuery proposal of VIDVOX describes it. Parameters, commands and figures (measured values) are nodes
 * of a tree whose paths are the addresses of OSC. */
#ifndef APP_REMOTE_OSCQUERY_H
#define APP_REMOTE_OSCQUERY_H

#include "app/remote/hub.h"
#include "app/remote/osc_names.h"

/* Answers a query. path: of a node; "/" is the root. attribute: "HOST_INFO", or the attribute of the node that is asked
 * for; NULL: all of the node, with everything below it. Returns JSON, which the caller frees, or NULL if the answer has
 * no contents. *status becomes the status of HTTP: 200; 204: the node has no such attribute; 400: there is no such
 * attribute; 404: there is no such node; 500: memory is short. */
char *oscquery_answer(struct hub *hub, const char *path, const char *attribute, unsigned *status);

#endif
