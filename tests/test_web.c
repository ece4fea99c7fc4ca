/* Tests the web page's server from the side of browsers and, if a browser is installed, the page in it. */
#include "tests/rigs/cmocka_all.h"

#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/remote/web_gate.h"
#include "tests/rigs/web_rig.h"

static uint8_t pixels[SIDE * SIDE * 4];
static const char *browser; /* path of the script that runs the browser */
static void show_picture(void) {
  for (int i = 0; i < SIDE * SIDE; i++)
    memcpy(pixels + 4 * i, i % SIDE < SIDE / 2 ? "\xff\x20\x20\xff" : "\x20\x20\xff\xff", 4);
  const struct frame picture = {
      .format = PIXEL_RGBA, .width = SIDE, .height = SIDE, .plane = {pixels}, .pitch = {SIDE * 4}};
  hub_show(hub, &(struct covered){.picture = picture});
}

/* --- which addresses are accepted --- */

static void addresses(void **unused) {
  (void)unused;
  struct web_address address;
  struct error err;
  static const struct {
    const char *text, *host;
    int port;
    bool loopback;
  } good[] = {
      {"", "127.0.0.1", 8080, true},          {"81", "127.0.0.1", 81, true}, {"localhost:81", "127.0.0.1", 81, true},
      {"127.0.0.2", "127.0.0.2", 8080, true}, {"[::1]:81", "::1", 81, true}, {"::1", "::1", 8080, true},
      {"0.0.0.0", "", 8080, false},           {"*:81", "", 81, false},       {"10.0.0.7:81", "10.0.0.7", 81, false},
      {"wlan0:81", "wlan0", 81, false},
  };
  static const char *const bad[] = {"70000", "-1", ":80", "host:x", "host:70000", "a b", "[::1", "http://x:80", "x/y"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_int_equal(web_read_address(&address, good[i].text, &err), 0);
    assert_string_equal(address.host, good[i].host);
    assert_int_equal(address.port, good[i].port);
    assert_int_equal(address.loopback, good[i].loopback);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (!web_read_address(&address, bad[i], &err))
      fail_msg("%s is taken", bad[i]);
}

static void names_and_origins(void **unused) {
  (void)unused;
  const struct web_address here = {.host = "127.0.0.1", .loopback = true}, everywhere = {.host = ""};
  static const char *const own[] = {"localhost", "localhost:9", "LOCALHOST:9", "127.0.0.1:9", "[::1]:9"};
  static const char *const network[] = {"10.1.2.3:9", "[fe80::1]:9", "stage", "stage:9", "Stage.local:9"};
  static const char *const foreign[] = {
      "evil.example", "evil.example:9", "127.0.0.1.evil.example", "localhost.evil", "stage.evil", "xstage", "", ":9",
      "[::1"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    assert_true(web_host_is_ours(&here, own[i], "stage") && web_host_is_ours(&everywhere, own[i], "stage"));
  for (size_t i = 0; i < sizeof network / sizeof *network; i++)
    assert_true(!web_host_is_ours(&here, network[i], "stage") && web_host_is_ours(&everywhere, network[i], "stage"));
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    assert_false(web_host_is_ours(&everywhere, foreign[i], "stage"));
  assert_false(web_host_is_ours(&everywhere, NULL, "stage"));
  assert_true(web_origin_is_ours(NULL, "localhost:9") && web_origin_is_ours("http://localhost:9", "localhost:9"));
  assert_true(web_origin_is_ours("https://Localhost:9", "localhost:9"));
  assert_false(web_origin_is_ours("http://localhost:8", "localhost:9") || web_origin_is_ours("null", "localhost:9"));
  assert_false(web_origin_is_ours("http://evil.example", "localhost:9") || web_origin_is_ours("", "localhost:9"));
}

static void tokens(void **unused) {
  (void)unused;
  const char *token = "0123456789abcdef0123456789abcdef";
  assert_true(web_token_is(token, token));
  assert_false(web_token_is(token, NULL) || web_token_is(token, "") || web_token_is(token, "0123456789abcdef"));
  assert_false(web_token_is(token, "0123456789abcdef0123456789abcdeg"));
  assert_false(web_token_is(token, "0123456789abcdef0123456789abcdef0"));
}

static void files(void **unused) {
  (void)unused;
  expect("<title>reverie</title>", "GET / HTTP/1.1\r\nHost: localhost\r\n" END);
  expect("frame-ancestors 'none'", "GET /page.js HTTP/1.1\r\nHost: localhost\r\n" END);
  expect("text/css", "GET /page.css HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 404", "GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 204", "GET /picture.jpg HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 403", "GET / HTTP/1.1\r\nHost: evil.example\r\n" END);
  expect(" 403", "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n" END);
  expect(" 405", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" END);
  show_picture();
  expect("\xff\xd8\xff", "GET /picture.jpg HTTP/1.0\r\nHost: localhost\r\n\r\n");
}

/* Fails the test unless the tree of OSCQuery at this path and query has these words. */
static void expect_tree(const char *path, const char *words) {
  expect(words, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n" END, path);
}

static void oscquery(void **unused) {
  (void)unused;
  static const struct {
    const char *path, *words;
  } cases[] = {
      {"/?HOST_INFO", "{\"NAME\":\"reverie\",\"EXTENSIONS\":{\"ACCESS\":true,\"VALUE\":true"},
      {"/?HOST_INFO", "\"OSC_PORT\":9123"},
      {"/", "{\"FULL_PATH\":\"/\",\"ACCESS\":0,\"DESCRIPTION\":\"reverie\",\"CONTENTS\":{\"reverie\":{"},
      {"/reverie/strength", "{\"FULL_PATH\":\"/reverie/strength\",\"ACCESS\":3,\"TYPE\":\"f\",\"VALUE\":[0.5],"
                            "\"RANGE\":[{\"MIN\":0,\"MAX\":1}],\"DESCRIPTION\":\"0 keeps the input"},
      {"/reverie/strength?VALUE", "\r\n\r\n{\"VALUE\":[0.5]}"},
      {"/reverie/seed?TYPE", "{\"TYPE\":\"h\"}"},
      {"/reverie/steps?RANGE", "{\"RANGE\":[{\"MIN\":1,\"MAX\":50}]}"},
      {"/reverie/show?RANGE", "{\"RANGE\":[{\"VALS\":[\"picture\",\"map\",\"beside\"]}]}"},
      {"/reverie/show?VALUE", "{\"VALUE\":[\"picture\"]}"},
      {"/reverie/hud?TYPE", "{\"TYPE\":\"T\"}"},
      {"/reverie/hud?VALUE", "{\"VALUE\":[true]}"},
      {"/reverie/size?RANGE", "{\"RANGE\":[{\"MIN\":1,\"MAX\":8192},{\"MIN\":1,\"MAX\":8192}]}"},
      {"/reverie/prompt/1?VALUE", "{\"VALUE\":[\"neon\"]}"},
      {"/reverie/prompt/2?VALUE", "{\"VALUE\":[\"\"]}"},
      {"/reverie/lora/1", "\"CONTENTS\":{\"weight\":{\"FULL_PATH\":\"/reverie/lora/1/weight\""},
      {"/reverie/fit?ACCESS", "{\"ACCESS\":1}"},
      {"/reverie/command/new-seed", "\"ACCESS\":2,\"TYPE\":\"I\",\"DESCRIPTION\":\"new seed\"}"},
      {"/reverie/command/prompt?TYPE", "{\"TYPE\":\"f\"}"},
      {"/reverie/figures/fps", "\"ACCESS\":1,\"TYPE\":\"f\",\"VALUE\":[24.5]}"},
      {"/reverie/prompt/1?RANGE", " 204 "},
      {"/reverie/command/new-seed?VALUE", " 204 "},
      {"/reverie/strength?COLOUR", " 400 "},
      {"/reverie/strenght", " 404 "},
      {"/reverie/command/quit", " 404 "},
      {"/reverie//strength", " 404 "},
      {"/reverie/strength/", " 404 "},
      {"/reverie/%s%n", " 404 "},
      {"/reverie/..%2f..%2fetc", " 404 "},
      {"/reverie/strength?%00", " 200 "},
      {"/no/such?VALUE", " 404 "},
  };
  hub_set_osc_port(hub, 9123);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_tree(cases[i].path, cases[i].words);
  char path[900] = "/reverie";
  while (strlen(path) + 3 < sizeof path)
    strcat(path, "/a");
  expect_tree(path, " 404 ");
  memset(path + 9, 'x', strlen(path) - 9);
  expect_tree(path, " 404 ");
  /* a browser that asks for "/" gets the page, not the tree */
  expect("<title>reverie</title>", "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html,*/*;q=0.8\r\n" END);
}

/* Queries of OSCQuery need the token and a valid Host header, as requests for the page do. */
static void queries_need_the_token(void **unused) {
  (void)unused;
  const char *token = strstr(web_url(web), "token=") + strlen("token=");
  expect(" 403", "GET /?HOST_INFO HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 403", "GET /reverie/strength HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 403", "GET /reverie?token=%.31sx HTTP/1.1\r\nHost: localhost\r\n" END, token);
  expect(" 403", "GET /reverie?token=%s HTTP/1.1\r\nHost: evil.example\r\n" END, token);
  expect("\"NAME\":\"reverie\"", "GET /?HOST_INFO&token=%s HTTP/1.1\r\nHost: localhost\r\n" END, token);
  expect("{\"VALUE\":[0.5]}", "GET /reverie/strength?token=%s&VALUE HTTP/1.1\r\nHost: localhost\r\n" END, token);
  expect("\"CONTENTS\"", "GET /reverie HTTP/1.1\r\nHost: localhost\r\nCookie: reverie_%d=%s\r\n" END, port, token);
}

/* Under /scene/NUMBER.png the server sends the PNG files that the list of presets' pictures names, and no other
 * file. */
static void scene_pictures(void **unused) {
  (void)unused;
  char png[] = "/tmp/reverie-scene-XXXXXX", other[] = "/tmp/reverie-scene-XXXXXX", list[200];
  static const char signature[] = "\x89PNG\r\n\x1a\nand its rest";
  int file = mkstemp(png), second = mkstemp(other);
  assert_true(file >= 0 && second >= 0);
  assert_int_equal(write(file, signature, sizeof signature - 1), sizeof signature - 1);
  assert_int_equal(write(second, "root:x:0:0", 10), 10);
  close(file);
  close(second);
  expect(" 404 ", "GET /scene/1.png HTTP/1.1\r\nHost: localhost\r\n" END);
  snprintf(list, sizeof list, "[\"%s\",\"%s\",\"\",\"/tmp\",\"/dev/zero\",7]", png, other);
  hub_set_list(hub, HUB_SCENE_FILES, strdup(list));
  expect("and its rest", "GET /scene/1.png HTTP/1.1\r\nHost: localhost\r\n" END);
  expect("image/png", "GET /scene/1.png HTTP/1.1\r\nHost: localhost\r\n" END);
  for (int i = 2; i < 9; i++)
    expect(" 404 ", "GET /scene/%d.png HTTP/1.1\r\nHost: localhost\r\n" END, i);
  static const char *const paths[] = {"/scene/",       "/scene/0.png", "/scene/-1.png",
                                      "/scene/1.pngx", "/scene/1",     "/scene/99999.png"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    expect(" 404 ", "GET %s HTTP/1.1\r\nHost: localhost\r\n" END, paths[i]);
  unlink(png);
  unlink(other);
}

static void strangers_need_the_token(void **unused) {
  (void)unused;
  const char *token = strstr(web_url(web), "token=") + strlen("token=");
  assert_int_equal(strlen(token), WEB_TOKEN_LENGTH);
  expect(" 403", "GET / HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 403", "GET /?token=%.31sx HTTP/1.1\r\nHost: localhost\r\n" END, token);
  expect(" 403", "GET /picture.jpg HTTP/1.1\r\nHost: localhost\r\nCookie: reverie_%d=x\r\n" END, port);
  expect("SameSite=Strict", "GET /?token=%s HTTP/1.1\r\nHost: localhost\r\n" END, token);
  expect("<title>reverie</title>", "GET / HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; reverie_%d=%s\r\n" END, port,
         token);
}

/* --- web sockets --- */

static void sockets(void **unused) {
  (void)unused;
  int one = upgrade("/socket", "Origin: http://localhost\r\n"), other = upgrade("/socket", "");
  assert_true(one >= 0 && other >= 0);
  TEXT(other, "{\"command\":[\"observe_property\",4,\"strength\"]}");
  expect_message(other, "success");
  expect_message(other, "\"name\":\"strength\",\"data\":0.5");
  TEXT(one, "{\"command\":[\"set_property\",\"strength\",0.75],\"request_id\":2}");
  expect_message(one, "{\"request_id\":2,\"error\":\"success\"}");
  expect_message(other, "\"name\":\"strength\",\"data\":0.75");
  TEXT(one, "{\"command\":[\"set_property\",\"model\",\"/etc/passwd\"]}");
  expect_message(one, "command line");
  TEXT(one, "[[[[[[[[[[[[[[");
  expect_message(one, "deep");
  close(one);
  close(other);
}

static void hostile_sockets(void **unused) {
  (void)unused;
  char large[20000], text[65536];
  memset(large, ' ', sizeof large);
  assert_int_equal(upgrade("/socket", "Origin: http://evil.example\r\n"), -1);
  assert_int_equal(upgrade("/socket", "Origin: null\r\n"), -1);
  assert_int_equal(upgrade("/", ""), -1);
  int client = upgrade("/socket", "");
  say_message(client, 0x81, large, sizeof large);
  assert_false(hear_message(client, text, sizeof text));
  close(client);
  client = upgrade("/socket", "");
  say_message(client, 0x82, "binary", 6);
  assert_false(hear_message(client, text, sizeof text));
  close(client);
  client = upgrade("/socket", "");
  say(client, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
  while (hear_message(client, text, sizeof text))
    ;
  close(client);
  expect("<title>reverie</title>", "GET / HTTP/1.1\r\nHost: localhost\r\n" END);
}

static void sockets_need_the_token(void **unused) {
  (void)unused;
  char cookie[128];
  const char *token = strstr(web_url(web), "token=") + strlen("token=");
  assert_int_equal(upgrade("/socket", ""), -1);
  snprintf(cookie, sizeof cookie, "Cookie: reverie_%d=%s\r\n", port, token);
  int client = upgrade("/socket", cookie);
  assert_true(client >= 0);
  close(client);
}

static void clients_are_counted(void **unused) {
  (void)unused;
  int clients[WEB_CLIENTS_MAX];
  char text[256];
  for (int i = 0; i < WEB_CLIENTS_MAX; i++) {
    clients[i] = upgrade("/socket", "");
    TEXT(clients[i], "{\"command\":[\"get_property\",\"strength\"]}");
    expect_message(clients[i], "success");
  }
  int another = upgrade("/socket", "");
  assert_true(another < 0 || !hear_message(another, text, sizeof text));
  if (another >= 0)
    close(another);
  for (int i = 0; i < WEB_CLIENTS_MAX; i++)
    close(clients[i]);
}

static void a_port_in_use(void **unused) {
  (void)unused;
  struct web *second;
  struct error err;
  char where[32];
  snprintf(where, sizeof where, "%d", port);
  assert_int_equal(web_open(&second, where, NULL, NULL, hub, &err), -1);
  assert_non_null(strstr(err.message, "--web="));
  assert_int_equal(web_open(&second, "nosuchinterface:0", NULL, NULL, hub, &err), -1);
  /* this machine does not have that address */
  assert_int_equal(web_open(&second, "198.51.100.213:0", NULL, NULL, hub, &err), -1);
}

/* The server listens at one address: connections to the machine's other addresses are refused. */
static void one_address_alone(void **unused) {
  (void)unused;
  assert_int_equal(knock("127.0.0.2"), -1);
}

static void everywhere_is_every_address(void **unused) {
  (void)unused;
  int client = knock("127.0.0.2");
  assert_true(client >= 0);
  close(client);
}

/* --- a picture that never comes --- */

static sem_t asked, may_come;

static int make_late(void *unused, struct picture *picture, struct error *err) {
  (void)unused, (void)err;
  picture->template = (struct frame){
      .format = PIXEL_RGBA, .width = SIDE, .height = SIDE, .plane = {pixels}, .pitch = {SIDE * 4}, .picture = picture};
  picture->memory = MEMORY_HOST;
  return 0;
}

static void destroy_late(struct picture *picture) {
  (void)picture;
}

/* Waits for a long time, as for a GPU that hangs. */
static int wait_late(struct picture *picture, enum memory kind, struct error *err) {
  (void)picture, (void)kind, (void)err;
  sem_post(&asked);
  while (sem_wait(&may_come))
    ;
  return 0;
}

/* The page's thread waits for a picture that a GPU never completes: closing the page returns in time. */
static void closing_waits_for_nobody(void **unused) {
  (void)unused;
  static const struct picture_owner owner = {
      .bytes = sizeof(struct picture), .make = make_late, .destroy = destroy_late, .wait = wait_late};
  struct picture_pool *pool;
  struct frame late;
  struct error err;
  sem_init(&asked, 0, 0);
  sem_init(&may_come, 0, 0);
  assert_int_equal(picture_pool_open(&pool, &owner, NULL, 1, 1, &err), 0);
  assert_int_equal(picture_pool_take(pool, &late, &err), 1);
  hub_show(hub, &(struct covered){.picture = late});
  int client = enter();
  static const char request[] = "GET /picture.jpg HTTP/1.1\r\nHost: localhost\r\n\r\n";
  say(client, request, sizeof request - 1);
  while (sem_wait(&asked))
    ;
  assert_false(web_close(&web, 10));
  assert_non_null(web);
  sem_post(&may_come);
  assert_true(web_close(&web, 60000));
  close(client);
  frame_release(&late);
  picture_pool_close(&pool);
}

/* --- a browser --- */

/* Runs commands of browser.py, which end with NULL, after the page was opened in a window of this size. Returns false
 * if there is no browser here. */
static bool browse(const char *width, const char *height, const char *const *commands) {
  enum { WORDS_MAX = 100 };
  const char *words[WORDS_MAX] = {"python3", "-B", browser, "size", width, height, "phone", "open", web_url(web)};
  int count = 9, status = 0;
  for (; *commands && count + 1 < WORDS_MAX; commands++)
    words[count++] = *commands;
  assert_null(*commands);
  pid_t child = fork();
  if (!child) {
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
  }
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    print_message("skipped, there is no Chromium\n");
    return false;
  }
  assert_int_equal(status, 0);
  return true;
}

/* Returns what the hub has now; the caller frees it. */
static struct parameters *values_now(void) {
  struct parameters *values = malloc(sizeof *values);
  assert_non_null(values);
  hub_get_values(hub, values);
  return values;
}

static void in_a_browser(void **unused) {
  (void)unused;
  static const char *const commands[] = {
      "wait", "document.getElementById('figures').textContent.startsWith('24.5')", "wait",
      "[...document.querySelectorAll('#alerts li')].map((each) => each.textContent.split(' since ')[0]).join() === "
      "'source lost,frozen' && document.getElementById('alerts').getBoundingClientRect().height > 40",
      "wait", /* a size is said once, and no line ends in a sign between words */
      "document.getElementById('state').textContent === 'the picture is 96x96 now, mini' && "
      "!document.getElementById('status').textContent.includes('\u00b7')",
      "wait", "document.getElementById('preview').naturalWidth === 96",
      "wait", /* what is heard, and how far it moves a value */
      "document.querySelectorAll('#sound .meter').length === 6 && "
      "document.querySelector('[data-level=bass] i').style.getPropertyValue('--level') === '0.5' && ((bar) => "
      "bar.classList.contains('moved') && bar.style.getPropertyValue('--to') === '0.75')"
      "(document.querySelector('input[data-name=mix]').parentElement)",
      "drag", "strength", "0.8", "do",
      "document.querySelector('input[name=\"prompt[2]\"]').focus(); document.execCommand('insertText', "
      "false, 'a fox'); document.activeElement.blur()",
      "wait", "values.get('prompt[2]') === 'a fox' && values.get('strength') === 0.8", "wait",
      /* on a phone scenes, prompts and strength come before all else, and every value has its name beside it */
      "((top) => document.getElementById('scenes').getBoundingClientRect().top < top('prompt[1]') && "
      "top('prompt[1]') < top('strength') && top('strength') < top('mix') && "
      "document.getElementById('commands').getBoundingClientRect().top > top('mix'))((name) => "
      "document.querySelector(`input[name=\"${name}\"]`).getBoundingClientRect().top)",
      "do", "for (const each of document.querySelectorAll('details')) each.open = true", "wait",
      "document.querySelectorAll('#all .row').length > 100 && "
      "[...document.querySelectorAll('.row:not([hidden]) .name')].every((name) => name.offsetWidth > 60)",
      "wait", "document.documentElement.scrollWidth <= 390", /* nothing is wider than the screen */
      "do", "request(['set_property', 'blackout', true]); request(['set_property', 'freeze', true])", "wait",
      "document.getElementById('badge').textContent === 'blackout, frozen'", "do",
      "request(['set_property', 'blackout', false]); request(['set_property', 'freeze', false])", "wait",
      "document.getElementById('badge').offsetWidth === 0", NULL};
  show_picture();
  if (!browse("390", "844", commands))
    return;
  struct parameters *values = values_now();
  assert_true(values->strength == 0.8);
  assert_string_equal(values->prompt[1].words, "a fox");
  free(values);
}

/* On a small phone a finger chooses and cues scenes, moves sliders and scrolls the page across them. */
static void by_touch(void **unused) {
  (void)unused;
  static const char *const commands[] = {
      "wait", /* waits until the page is complete, so that nothing moves any more */
      "document.querySelectorAll('#alerts li').length === 2 && document.querySelectorAll('.scene').length === 3 && "
      "document.getElementById('figures').textContent.startsWith('24.5')",
      "wait", /* what the model refuses is no longer at hand, but among all parameters, with the reason */
      "((row) => row.dataset.why === 'needs more' && row.offsetHeight === 0)"
      "(document.querySelector('#main [data-parameter=detail]'))",
      "do",
      "document.getElementById('all').open = true; for (const group of document.querySelectorAll('#all .group')) "
      "group.open = true",
      "wait",
      "((row) => row && row.dataset.why === 'needs more' && row.offsetHeight > 0 && "
      "getComputedStyle(row, '::after').content.includes('needs more'))"
      "(document.querySelector('#all [data-parameter=detail]'))",
      "do",
      "document.getElementById('all').open = false",
      "tap",
      "[data-number=\"2\"]",
      "wait",
      "values.get('saved-preset') === 2",
      "wait",
      "document.querySelector('[data-number=\"2\"]').getAttribute('aria-pressed') === 'true'",
      "tap",
      "#scene-buttons button",
      "tap",
      "[data-number=\"3\"]",
      "wait",
      "values.get('cued-preset') === 3 && values.get('saved-preset') === 2",
      "do",
      "request(['set_property', 'mix', 0.9])",
      "wait",
      "values.get('mix') === 0.9",
      "do",
      "document.querySelector('input[data-name=mix]').scrollIntoView({block: 'center'}); window.before = scrollY",
      "swipe",
      "input[data-name=mix]",
      "4,-160",
      "wait",
      "scrollY > window.before + 50 && values.get('mix') === 0.9",
      "swipe",
      "input[data-name=mix]",
      "-60,2",
      "wait",
      "values.get('mix') < 0.85 && values.get('mix') > 0.4",
      "tap",
      "#stage [data-name=blackout]",
      "wait",
      "values.get('blackout') === true",
      "tap",
      "#stage [data-name=blackout]",
      "wait",
      "values.get('blackout') === false",
      "do",
      "document.getElementById('waves').open = true; ((list) => { list.value = 'detail'; "
      "list.dispatchEvent(new Event('change')); })(document.querySelector('select[name=\"lfo[1]\"]'))",
      "wait",
      "values.get('lfo[1]') === 'detail'",
      "wait",
      "document.querySelector('input[name=\"lfo[1].amount\"]').offsetWidth > 0",
      "do",
      "document.getElementById('all').open = true; ((filter) => { filter.value = 'Seed pos'; "
      "filter.dispatchEvent(new Event('input')); })(document.querySelector('#all input'))",
      "wait", /* the filter hides all groups except one, which is open */
      "[...document.querySelectorAll('#all .group')].filter((group) => !group.hidden).map((group) => group.open + "
      "group.firstChild.textContent).join() === 'truePicture'",
      "wait", /* all files of the page come from the program itself, and together are small */
      "((all) => all.length > 7 && all.every((each) => each.name.startsWith(location.origin)) && all.filter((each) => "
      "!each.name.includes('picture.jpg')).reduce((sum, each) => sum + each.decodedBodySize, 0) < 120000)"
      "(performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')))",
      "do",
      "document.getElementById('corners').open = true",
      "swipe",
      ".handle",
      "24,12",
      "wait",
      "values.get('corner[1].x') > 0.05 && values.get('corner[1].y') > 0.04 && values.get('corner[2].x') === 0",
      "wait",
      "document.documentElement.scrollWidth <= 360",
      NULL};
  hub_set_list(hub, HUB_REFUSALS, strdup("{\"detail\":\"needs more\"}"));
  hub_set_list(hub, HUB_SCENES,
               strdup("[{\"number\":1,\"name\":\"a\",\"picture\":false},{\"number\":2,\"name\":\"b\","
                      "\"picture\":true},{\"number\":3,\"name\":\"c\",\"picture\":false}]"));
  if (!browse("360", "800", commands))
    return;
  struct parameters *values = values_now();
  assert_int_equal(values->saved_preset, 2);
  assert_int_equal(values->cued_preset, 3);
  assert_string_equal(values->lfo[0].words, "detail");
  assert_true(values->corner_x[0] > 0.05 && values->corner_x[1] == 0);
  free(values);
}

int main(int argc, char **argv) {
#define HERE(function) cmocka_unit_test_setup_teardown(function, open_here, close_web)
#define EVERYWHERE(function) cmocka_unit_test_setup_teardown(function, open_everywhere, close_web)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses),
      cmocka_unit_test(names_and_origins),
      cmocka_unit_test(tokens),
      HERE(files),
      HERE(oscquery),
      EVERYWHERE(queries_need_the_token),
      HERE(scene_pictures),
      EVERYWHERE(strangers_need_the_token),
      HERE(sockets),
      HERE(hostile_sockets),
      EVERYWHERE(sockets_need_the_token),
      HERE(clients_are_counted),
      HERE(a_port_in_use),
      HERE(closing_waits_for_nobody),
      HERE(one_address_alone),
      EVERYWHERE(everywhere_is_every_address),
      EVERYWHERE(in_a_browser),
      EVERYWHERE(by_touch),
  };
  if (argc != 2)
    return 2;
  browser = argv[1];
  signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
