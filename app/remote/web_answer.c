#include "app/remote/web_impl.h"

#include <stdio.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "app/remote/oscquery.h"
#include "app/remote/scene_picture.h"
#include "app/remote/web_gate.h"

/* The page's files, which the build (embed.sh) converts to arrays: index.html, the style sheet, the scripts, the
 * icon. */
extern const char embed_web_index[], embed_web_index_end[], embed_web_style[], embed_web_style_end[];
extern const char embed_web_link[], embed_web_link_end[], embed_web_controls[], embed_web_controls_end[];
extern const char embed_web_stage[], embed_web_stage_end[], embed_web_tools[], embed_web_tools_end[];
extern const char embed_web_script[], embed_web_script_end[], embed_web_icon[], embed_web_icon_end[];

enum {
  FRESH_NS = 100000000, /* a JPEG older than this many nanoseconds is not sent again; the picture is encoded again */
};

static const struct file {
  const char *path, *type, *begin, *end;
} files[] = {
    {"/", "text/html; charset=utf-8", embed_web_index, embed_web_index_end},
    {"/page.css", "text/css; charset=utf-8", embed_web_style, embed_web_style_end},
    {"/link.js", "text/javascript; charset=utf-8", embed_web_link, embed_web_link_end},
    {"/controls.js", "text/javascript; charset=utf-8", embed_web_controls, embed_web_controls_end},
    {"/stage.js", "text/javascript; charset=utf-8", embed_web_stage, embed_web_stage_end},
    {"/tools.js", "text/javascript; charset=utf-8", embed_web_tools, embed_web_tools_end},
    {"/page.js", "text/javascript; charset=utf-8", embed_web_script, embed_web_script_end},
    {"/icon.svg", "image/svg+xml", embed_web_icon, embed_web_icon_end},
};

/* --- checking that a request may be answered --- */

bool web_comes_from_here(const struct web *web, const struct web_request *request) {
  return web_host_is_ours(&web->address, request->host, web->machine) &&
         web_origin_is_ours(request->origin, request->host);
}

bool web_has_token(const struct web *web, struct MHD_Connection *connection, bool *in_address) {
  *in_address = web_token_is(web->token, MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token"));
  return web->address.loopback || *in_address ||
         web_token_is(web->token, MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, web->cookie));
}

/* --- telling queries of OSCQuery from requests of browsers --- */

static enum MHD_Result take_attribute(void *opaque, enum MHD_ValueKind kind, const char *name, const char *value) {
  const char **attribute = opaque;
  (void)kind;
  if (!value && *name >= 'A' && *name <= 'Z')
    *attribute = name;
  return *attribute ? MHD_NO : MHD_YES;
}

/* Returns the attribute that the request asks for, as in "/?HOST_INFO": the first argument in its URL that has no
 * value and begins with a capital letter. NULL: there is none. */
static const char *find_attribute(struct MHD_Connection *connection) {
  const char *attribute = NULL;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_attribute, &attribute);
  return attribute;
}

/* True if the request is a query of OSCQuery, for an address in the OSC tree. The tree and the web page share the
 * address "/". There it is a query if it names an attribute, or if its header Accept does not ask for HTML, as a
 * browser does. */
static bool is_query(const struct web_request *request, const char *attribute) {
  if (!strcmp(request->path, "/reverie") || !strncmp(request->path, OSC_ROOT, strlen(OSC_ROOT)))
    return true;
  bool wants_html = !request->accept || strstr(request->accept, "text/html");
  return !strcmp(request->path, "/") && (attribute || !wants_html);
}

/* --- answering HTTP requests --- */

struct header {
  const char *name, *value;
};

/* HTTP headers by which the browser lets the page load scripts only from this server and connect only to it, and keeps
 * pages of other sites from embedding or reading it. */
static const struct header protective[] = {
    {"Server", "reverie"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
     "form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

static bool add_headers(struct MHD_Response *response, const struct header *headers, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!MHD_add_response_header(response, headers[i].name, headers[i].value))
      return false;
  return true;
}

/* Sends a response and frees it. `response` NULL: memory was short, and the connection is closed (MHD_NO is
 * returned). */
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
                                     const struct header *headers, size_t count) {
  bool ready = response && add_headers(response, protective, sizeof protective / sizeof *protective) &&
               add_headers(response, headers, count);
  enum MHD_Result result = ready ? MHD_queue_response(connection, status, response) : MHD_NO;
  if (response)
    MHD_destroy_response(response);
  return result;
}

static enum MHD_Result send_body(struct MHD_Connection *connection, unsigned status, const char *type, const void *body,
                                 size_t size, enum MHD_ResponseMemoryMode mode) {
  const struct header headers[] = {{"Content-Type", type}};
  return send_response(connection, status, MHD_create_response_from_buffer(size, (void *)body, mode), headers, 1);
}

enum MHD_Result web_refuse(struct MHD_Connection *connection, unsigned status, const char *words) {
  return send_body(connection, status, "text/plain; charset=utf-8", words, strlen(words), MHD_RESPMEM_PERSISTENT);
}

/* Answers a request whose URL contains the token: makes the browser store the token as a cookie, and redirects the
 * browser to the URL without the token. */
static enum MHD_Result leave_cookie(struct web *web, struct MHD_Connection *connection) {
  char cookie[160];
  snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", web->cookie, web->token);
  const struct header headers[] = {{"Location", "/"}, {"Set-Cookie", cookie}};
  return send_response(connection, MHD_HTTP_SEE_OTHER, MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT),
                       headers, 2);
}

static int encode_covered(struct web *web, const struct covered *shown, struct error *err) {
  struct frame picture;
  if (cover_pixels_apply(&web->cover_pixels, shown, &picture, err))
    return -1;
  int status = frame_wait(&picture, MEMORY_HOST, err) < 0 ||
                       preview_encode(web->preview, &picture, &web->jpeg, &web->jpeg_size, err)
                   ? -1
                   : 0;
  frame_release(&picture);
  return status;
}

/* Encodes the picture on the screen as a JPEG, with bypass, blackout and freeze as in the window. If the hub has no
 * picture, the last JPEG stays. If encoding fails, web->jpeg becomes NULL. */
static void encode(struct web *web) {
  struct covered shown;
  struct error err;
  if (!hub_get_picture(web->hub, &shown))
    return;
  if (encode_covered(web, &shown, &err))
    web->jpeg = NULL;
  hub_put_back(web->hub, &shown);
}

static enum MHD_Result send_picture(struct web *web, struct MHD_Connection *connection) {
  if (!web->jpeg || web->now_ns - web->jpeg_ns > FRESH_NS) {
    encode(web);
    web->jpeg_ns = web->now_ns;
  }
  return send_body(connection, web->jpeg ? MHD_HTTP_OK : MHD_HTTP_NO_CONTENT, "image/jpeg", web->jpeg,
                   web->jpeg ? web->jpeg_size : 0, MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result send_scene(struct web *web, struct MHD_Connection *connection, const char *path) {
  size_t size;
  void *png = scene_picture_read(web->hub, path, &size);
  return png ? send_body(connection, MHD_HTTP_OK, "image/png", png, size, MHD_RESPMEM_MUST_FREE)
             : web_refuse(connection, MHD_HTTP_NOT_FOUND, "There is no such picture.\n");
}

/* Answers a query of OSCQuery: about the addresses of OSC, or about this server. */
static enum MHD_Result send_query(struct web *web, struct MHD_Connection *connection, const char *path,
                                  const char *attribute) {
  unsigned status;
  char *json = oscquery_answer(web->hub, path, attribute, &status);
  if (!json)
    return web_refuse(connection, status, "");
  return send_body(connection, status, "application/json", json, strlen(json), MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result send_file(struct MHD_Connection *connection, const char *path) {
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (!strcmp(files[i].path, path))
      return send_body(connection, MHD_HTTP_OK, files[i].type, files[i].begin, (size_t)(files[i].end - files[i].begin),
                       MHD_RESPMEM_PERSISTENT);
  return web_refuse(connection, MHD_HTTP_NOT_FOUND, "There is no such file.\n");
}

enum MHD_Result web_answer(struct web *web, struct MHD_Connection *connection, const struct web_request *request) {
  bool in_address;
  if (!web_comes_from_here(web, request))
    return web_refuse(connection, MHD_HTTP_FORBIDDEN, "This address is not the page's own.\n");
  if (!web_has_token(web, connection, &in_address))
    return web_refuse(connection, MHD_HTTP_FORBIDDEN, "The address that the program printed has a token in it.\n");
  /* of an answer to HEAD, libmicrohttpd sends the headers alone */
  if (strcmp(request->method, "GET") && strcmp(request->method, "HEAD"))
    return web_refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD are understood.\n");
  const char *attribute = find_attribute(connection);
  if (is_query(request, attribute))
    return send_query(web, connection, request->path, attribute);
  if (in_address && !web->address.loopback)
    return leave_cookie(web, connection);
  if (!strcmp(request->path, "/picture.jpg"))
    return send_picture(web, connection);
  if (!strncmp(request->path, "/scene/", strlen("/scene/")))
    return send_scene(web, connection, request->path);
  return send_file(connection, request->path);
}
