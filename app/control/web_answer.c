#include "app/control/web_impl.h"

#include <stdio.h>
#include <string.h>

#include "app/control/web_gate.h"
#include "app/platform/app_platform.h"

/* The page's files, embedded (embed.sh). */
extern const char embed_web_index[], embed_web_index_end[], embed_web_style[], embed_web_style_end[];
extern const char embed_web_script[], embed_web_script_end[], embed_web_icon[], embed_web_icon_end[];

enum {
  FRESH_NS = 100000000, /* pictures are encoded no more often */
  HEAD_MAX = 2048,
};

static const struct file {
  const char *path, *type, *begin, *end;
} files[] = {
    {"/", "text/html; charset=utf-8", embed_web_index, embed_web_index_end},
    {"/page.css", "text/css; charset=utf-8", embed_web_style, embed_web_style_end},
    {"/page.js", "text/javascript; charset=utf-8", embed_web_script, embed_web_script_end},
    {"/icon.svg", "image/svg+xml", embed_web_icon, embed_web_icon_end},
};

/* --- who may come in --- */

bool web_comes_from_here(const struct web *web, const struct web_request *request) {
  return web_host_is_ours(&web->address, request->host, web->machine) &&
         web_origin_is_ours(request->origin, request->host);
}

bool web_has_token(const struct web *web, const struct web_request *request, bool *in_address) {
  char given[WEB_TOKEN_LENGTH + 1];
  *in_address = web_pair(given, sizeof given, request->query, '&', "token") && web_token_is(web->token, given);
  return web->address.loopback || *in_address ||
         (web_pair(given, sizeof given, request->cookie, ';', web->cookie) && web_token_is(web->token, given));
}

/* --- HTTP --- */

struct answer {
  int status;
  const char *reason, *type;
  const void *body;
  size_t size;
  const char *more; /* headers, each with its line's end; NULL: none */
};

/* Scripts and connections are this page's own; no other page can show it, or read from it. */
#define PROTECTIVE_HEADERS                                                                                             \
  "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "     \
  "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"                                            \
  "x-content-type-options: nosniff\r\n"                                                                                \
  "referrer-policy: no-referrer\r\n"                                                                                   \
  "cross-origin-resource-policy: same-origin\r\n"                                                                      \
  "cache-control: no-store\r\n"

/* Returns the header that says where the body ends: an answer that cannot have one has none. */
static const char *length_header(const struct answer *answer, char text[48]) {
  snprintf(text, 48, answer->status == 204 ? "" : "content-length: %zu\r\n", answer->size);
  return text;
}

static int send_answer(struct web *web, struct web_connection *c, const struct answer *answer) {
  char head[HEAD_MAX], size[48];
  int length = snprintf(
      head, sizeof head,
      "HTTP/1.1 %d %s\r\nserver: reverie\r\ncontent-type: %s\r\n%sconnection: %s\r\n" PROTECTIVE_HEADERS "%s\r\n",
      answer->status, answer->reason, answer->type, length_header(answer, size), c->keeps ? "keep-alive" : "close",
      answer->more ? answer->more : "");
  web_connection_enter(c, WEB_ANSWERS, web->now_ns);
  return length >= (int)sizeof head || web_connection_put(c, head, (size_t)length) ||
                 web_connection_put(c, answer->body, answer->size)
             ? -1
             : 0;
}

static const char *find_reason(int status) {
  static const struct {
    int status;
    const char *words;
  } reasons[] = {{400, "Bad Request"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {431, "Request Header Fields Too Large"},
                 {503, "Service Unavailable"},
                 {505, "HTTP Version Not Supported"}};
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (reasons[i].status == status)
      return reasons[i].words;
  return "Refused";
}

int web_refuse(struct web *web, struct web_connection *c, int status, const char *words) {
  const struct answer answer = {.status = status,
                                .reason = find_reason(status),
                                .type = "text/plain; charset=utf-8",
                                .body = words,
                                .size = strlen(words)};
  return send_answer(web, c, &answer);
}

/* From then on the browser has the token, and the address shows it no more. */
static int leave_cookie(struct web *web, struct web_connection *c) {
  char headers[200];
  snprintf(headers, sizeof headers, "location: /\r\nset-cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict\r\n",
           web->cookie, web->token);
  const struct answer answer = {.status = 303, .reason = "See Other", .type = "text/plain", .more = headers};
  return send_answer(web, c, &answer);
}

static int encode_covered(struct web *web, const struct covered *shown, struct error *err) {
  struct frame picture;
  if (covering_apply(&web->covering, shown, &picture, err))
    return -1;
  int status = frame_wait(&picture, MEMORY_HOST, err) < 0 ||
                       preview_encode(web->preview, &picture, &web->jpeg, &web->jpeg_size, err)
                   ? -1
                   : 0;
  frame_release(&picture);
  return status;
}

/* The page has what the audience sees: black and a picture that is held, too. */
static void encode(struct web *web) {
  struct covered shown;
  struct error err;
  if (!hub_get_picture(web->hub, &shown))
    return;
  if (encode_covered(web, &shown, &err))
    web->jpeg = NULL;
  hub_put_back(web->hub, &shown);
}

static int send_picture(struct web *web, struct web_connection *c) {
  if (!web->jpeg || web->now_ns - web->jpeg_ns > FRESH_NS) {
    encode(web);
    web->jpeg_ns = web->now_ns;
  }
  struct answer answer = {.status = 204, .reason = "No Content", .type = "image/jpeg"};
  if (web->jpeg)
    answer = (struct answer){200, "OK", "image/jpeg", web->jpeg, web->jpeg_size, NULL};
  return send_answer(web, c, &answer);
}

static int send_file(struct web *web, struct web_connection *c, const char *path) {
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (!strcmp(files[i].path, path)) {
      const struct answer answer = {200, "OK", files[i].type, files[i].begin, (size_t)(files[i].end - files[i].begin),
                                    NULL};
      return send_answer(web, c, &answer);
    }
  return web_refuse(web, c, 404, "There is no such file.\n");
}

int web_answer(struct web *web, struct web_connection *c, const struct web_request *request) {
  bool in_address, head_alone = !strcmp(request->method, "HEAD");
  if (!web_comes_from_here(web, request))
    return web_refuse(web, c, 403, head_alone ? "" : "This address is not the page's own.\n");
  if (!web_has_token(web, request, &in_address))
    return web_refuse(web, c, 403, head_alone ? "" : "The address that the program printed has a token in it.\n");
  if (strcmp(request->method, "GET"))
    return web_refuse(web, c, 405, head_alone ? "" : "GET is understood.\n");
  if (in_address && !web->address.loopback)
    return leave_cookie(web, c);
  if (!strcmp(request->path, "/picture.jpg"))
    return send_picture(web, c);
  return send_file(web, c, request->path);
}
