/* Tests `reverie fetch` with a server that behaves like the hub, and also misbehaves in ways that hubs, storage servers
 * and networks do.
 *
 * Arguments: the program; the program without libcurl; python3 and hub_server.py; for the tests that count calls or let
 * them fail, also libcount_connections.so and libinject.so. */
#include "tests/rigs/cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

enum { SKIPPED = 77, WAIT_MS = 60000 };

#define RENDER "render pattern:96x64 null: --size 64x64 --frames 1 --device cpu -q "
#define MODELS "data/reverie/models/acme/"

static const char *without_curl;
static char *shim, *inject;
static char *program;
static pid_t server;
static int tls_port;

static void wait_for(const char *name) {
  for (int i = 0; i < WAIT_MS / 20 && access(clip(name), F_OK); i++)
    usleep(20000);
  assert_int_equal(access(clip(name), F_OK), 0);
}

static void start_server(const char *python, const char *script) {
  char *path = realpath(script, NULL), endpoint[64];
  if (system("openssl version >/dev/null 2>&1") == 0)
    shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem "
          "-days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 >openssl.txt 2>&1");
  server = fork();
  if (!server) {
    if (!chdir(clip(".")))
      execlp(python, python, "-B", path, getenv("REVERIE_GOLDENS"), (char *)NULL);
    _exit(127);
  }
  free(path);
  int port = 0;
  wait_for("ports.txt");
  char *ports = (char *)shell_output(NULL, "cat ports.txt");
  assert_int_equal(sscanf(ports, "%d %d", &port, &tls_port), 2);
  free(ports);
  snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d/", port);
  setenv("HF_ENDPOINT", endpoint, 1);
}

static void set_environment(void) {
  static const char *const unset[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_TOKEN_PATH", "CURL_CA_BUNDLE"};
  for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
    unsetenv(unset[i]);
  setenv("XDG_DATA_HOME", clip("data"), 1);
  setenv("HF_HOME", clip("hf"), 1);
  setenv("HF_TOKEN", "hf_good", 1);
  setenv("no_proxy", "*", 1);
}

/* Before each test the models are removed and the server's log is emptied. */
static int clear(void **state) {
  (void)state;
  shell("rm -rf data hf heard.txt go moved once slow.there; touch heard.txt");
  return 0;
}

static void heard(int times, const char *pattern) {
  char *count = (char *)shell_output(NULL, "grep -cE -- '%s' heard.txt || true", pattern);
  if (atoi(count) != times)
    shell("cat heard.txt >&2; echo '%s: %s times, not %d' >&2; false", pattern, strtok(count, "\n"), times);
  free(count);
}

/* --- what is downloaded --- */

/* Only files that the program reads are downloaded, in half precision; afterwards the model is found by its name. */
static void test_pipeline(void **state) {
  (void)state;
  program_expect(0, "2 pickles, 3 other files of weights (1.3 MB), 1 that is not read", "fetch acme/pipeline");
  shell("grep -q '^acme/pipeline: 13 files, 2.* kB, in .*/" MODELS "pipeline$' out.txt");
  shell("(cd " MODELS "pipeline && find . -type f | sort) >files.txt && cat >wanted.txt <<'END'\n"
        "./model_index.json\n./scheduler/scheduler_config.json\n./text_encoder/config.json\n"
        "./text_encoder/model.safetensors\n./tokenizer/added_tokens.json\n./tokenizer/merges.txt\n./tokenizer/"
        "special_tokens_map.json\n"
        "./tokenizer/tokenizer_config.json\n./tokenizer/vocab.json\n./unet/config.json\n"
        "./unet/diffusion_pytorch_model.fp16.safetensors\n./vae/config.json\n"
        "./vae/diffusion_pytorch_model.safetensors\nEND\ncmp wanted.txt files.txt");
  shell("cmp " MODELS "pipeline/vae/diffusion_pytorch_model.safetensors "
        "\"$REVERIE_GOLDENS\"/merged/vae/diffusion_pytorch_model.safetensors");
  program_expect(0, NULL, RENDER "--model acme/pipeline");
  program_expect(0, NULL, RENDER "--model pipeline");
}

static void test_again(void **state) {
  (void)state;
  program_expect(0, NULL, "fetch -q acme/pipeline >nothing.txt");
  shell("test ! -s nothing.txt && : >heard.txt");
  program_expect(0, NULL, "fetch acme/pipeline");
  heard(1, ".");
  shell("grep -q 'all there already' out.txt");
  shell(": >heard.txt; echo damage >>" MODELS "pipeline/unet/config.json; rm " MODELS "pipeline/tokenizer/vocab.json");
  program_expect(0, NULL, "fetch acme/pipeline");
  heard(3, ".");
  shell("cmp " MODELS "pipeline/unet/config.json \"$REVERIE_GOLDENS\"/merged/unet/config.json");
  /* fetch was killed after the last file but before it was done, and another program wrote weights there. */
  shell("touch " MODELS "pipeline/.unfinished");
  program_expect(0, NULL, "fetch acme/pipeline");
  shell("test ! -e " MODELS "pipeline/.unfinished && cp " MODELS
        "pipeline/unet/diffusion_pytorch_model.fp16.safetensors " MODELS
        "pipeline/unet/diffusion_pytorch_model.safetensors");
  struct outcome outcome;
  program_run(&outcome, "fetch acme/pipeline");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "unet/diffusion_pytorch_model.safetensors: is there from before, and read"));
}

static void test_other_repositories(void **state) {
  (void)state;
  program_expect(0, "1 pickle, 1 other file of weights", "fetch acme/vae");
  shell("test \"$(ls " MODELS "vae | tr '\\n' ' ')\" = 'config.json diffusion_pytorch_model.safetensors '");
  program_expect(0, "1 pickle, 1 that is not read", "fetch acme/depth");
  shell("test \"$(ls " MODELS "depth | tr '\\n' ' ')\" = 'config.json model.safetensors preprocessor_config.json '");
  program_expect(0, NULL, "info acme/depth");
  shell("grep -q '^depth  *Depth Anything, width 16, 5 layers' out.txt");
  program_expect(0, "2 that are not read", "fetch acme/lora");
  shell("test \"$(ls " MODELS "lora)\" = pytorch_lora_weights.safetensors");
  program_expect(2, "name those that you want: deep/two.safetensors, one step.safetensors", "fetch acme/several");
  program_expect(2, "near it: one step.safetensors", "fetch acme/several 'one stpe.safetensors'");
  program_expect(2, "is a pickle", "fetch acme/several two.ckpt");
  program_expect(0, NULL, "fetch acme/several 'one step.safetensors' deep/two.safetensors");
  shell("test -s '" MODELS "several/one step.safetensors' && test -s " MODELS "several/deep/two.safetensors");
  program_expect(0, NULL, "fetch acme/shards");
  shell("test \"$(find " MODELS "shards -name '*.safetensors' -printf '%%f\\n' | sort | tr '\\n' ' ')\" = "
        "'diffusion_pytorch_model-00001-of-00002.safetensors diffusion_pytorch_model-00002-of-00002.safetensors "
        "model.fp16-00001-of-00001.safetensors '");
  program_expect(4, "unet/diffusion_pytorch_model.bin as a pickle alone", "fetch acme/pickles");
  program_expect(4, "without a U-Net", "fetch acme/flux");
  program_expect(0, NULL, "fetch acme/empty");
  shell("test -f " MODELS "empty/model_index.json && test ! -s " MODELS "empty/model_index.json && "
        "test ! -e " MODELS "pickles && test ! -e " MODELS "flux");
}

static void test_revisions(void **state) {
  (void)state;
  program_expect(0, NULL, "@ fetch acme/lora@refs/pr/1");
  shell("test -s " MODELS "lora@refs-pr-1/pytorch_lora_weights.safetensors && test ! -e " MODELS "lora");
  heard(1, "revision/refs%2Fpr%2F1\\?");
  program_expect(4, "has no revision v9", "@ fetch acme/lora@v9");
}

static void test_command_line(void **state) {
  (void)state;
  static const char *const names[] = {"a/b/c", "../x", "https://huggingface.co/acme/lora", "a@../b", "'a/b?c=d'"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    program_expect(2, "ORG/NAME", "@ fetch %s", names[i]);
  program_expect(2, "an empty argument", "fetch ''");
  program_expect(2, "fetch needs REPO", "fetch");
  program_expect(2, "it belongs to", "fetch acme/lora --steps 2");
  program_expect(0, NULL, "fetch --help");
  shell("grep -q HF_TOKEN out.txt && grep -q 'Exit status' out.txt && test ! -s heard.txt");
}

/* --- the token --- */

static void test_token(void **state) {
  (void)state;
  program_expect(0, NULL, "fetch acme/private");
  program_expect(0, NULL, "fetch acme/renamed");
  heard(0, "^store .*token=Bearer");
  heard(0, "^hub .*token=none");
  heard(6, "^store .*token=none");
  shell("test $(grep -c '^hub .*token=Bearer hf_good' heard.txt) -gt 20");
  clear(NULL);
  program_expect(4, "it is private and needs HF_TOKEN", "fetch nothing/; unset HF_TOKEN; @ fetch acme/private");
  shell("mkdir -p hf && printf 'hf_good\\n' >hf/token");
  program_expect(0, NULL, "unset HF_TOKEN; @ fetch acme/private");
  program_expect(4, "does not take this token", "fetch acme/token");
  program_expect(0, NULL, "rm hf/token; unset HF_TOKEN; @ fetch acme/token");
  program_expect(2, "HF_TOKEN: holds no token", "export HF_TOKEN=\"$(printf 'a\\r\\nHost: b')\"; @ fetch acme/private");
  program_expect(2, "HF_TOKEN: holds no token", "export HF_TOKEN='a b'; @ fetch acme/private");
}

static void test_refusals(void **state) {
  (void)state;
  program_expect(4, "the hub has no such repository", "fetch acme/missing");
  program_expect(4, "terms have to be accepted first, at http://127.0.0.1", "fetch acme/gated-401");
  program_expect(4, "terms have to be accepted first", "fetch acme/gated-403");
  program_expect(4, "first, at http://127.0.0.1",
                 "export HF_ENDPOINT=$(echo \"$HF_ENDPOINT\" | sed \"s,//,//me:secret$(printf '\\100'),\"); "
                 "@ fetch acme/gated-401");
  program_expect(4, "HTTP status 404", "fetch acme/gone");
  program_expect(4, "asked too often", "fetch acme/busy");
  program_expect(4, "HTTP status 500", "fetch acme/broken");
  program_expect(4, "from place to place", "fetch acme/circle");
  program_expect(4, "only https:// is followed", "fetch acme/file");
  program_expect(4, "only https:// is followed", "fetch acme/ftp");
  program_expect(4, "HTTP status 302", "fetch acme/nowhere");
  program_expect(4, "127.0.0.1:1: ", "export HF_ENDPOINT=http://127.0.0.1:1; @ fetch acme/lora");
  program_expect(2, "begins with https://", "export HF_ENDPOINT=file:///tmp; @ fetch acme/lora");
  program_expect(2, "begins with https://", "export HF_ENDPOINT='no address'; @ fetch acme/lora");
  shell("test -z \"$(find data -type f)\"");
}

/* --- downloads that break off --- */

static void test_cut(void **state) {
  (void)state;
  program_expect(0, NULL, "fetch acme/cut");
  heard(1, "^store .*range=none");
  heard(1, "^store .*range=bytes=250000-");
  heard(1, "^store .*range=bytes=500000-");
  shell(": >heard.txt");
  program_expect(0, NULL, "fetch acme/no-range");
  heard(2, "^store");
  shell("cmp " MODELS "cut/model.safetensors " MODELS "no-range/model.safetensors");
  program_expect(4, "other bytes than were asked for; 250.0 kB of 600.0 kB are there", "fetch acme/other-range");
  program_expect(4, "other bytes than were asked for", "fetch acme/unsaid-range");
}

/* Runs fetch with a limit of 400 blocks of 512 bytes for each file, so that a part of a file is left. */
static void leave_a_part(const char *repository) {
  program_expect(6, "File too large; 204.8 kB of 600.0 kB are there, and the same command goes on",
                 "ulimit -f 400; @ fetch acme/%s", repository);
  shell("test ! -e " MODELS "%s/model.safetensors && test $(stat -c %%s " MODELS "%s/*.part) = 204800", repository,
        repository);
}

static void expect_whole(const char *repository) {
  shell("test \"$(ls -A " MODELS "%s)\" = model.safetensors && test $(stat -c %%s " MODELS "%s/*) = 600000", repository,
        repository);
}

/* The next run continues an incomplete download. */
static void test_resumes(void **state) {
  (void)state;
  program_expect(4, "250.0 kB of 600.0 kB are there, and the same command goes on", "fetch acme/stuck");
  heard(4, "^store .*range=bytes=250000-");
  program_expect(4, "`reverie fetch acme/stuck` goes on", "info acme/stuck");
  shell("touch go; : >heard.txt");
  program_expect(0, NULL, "fetch acme/stuck");
  heard(1, "^store");
  heard(1, "^store .*range=bytes=250000-");
  expect_whole("stuck");
  leave_a_part("damaged-once"); /* here the part that was downloaded is damaged */
  shell(": >heard.txt");
  program_expect(0, NULL, "fetch acme/damaged-once");
  heard(1, "^store .*range=bytes=204800-");
  heard(1, "^store .*range=none");
  expect_whole("damaged-once");
}

/* If the file has changed on the server, the part of the old one is not used. */
static void test_changes(void **state) {
  (void)state;
  leave_a_part("moved");
  shell("touch moved; : >heard.txt");
  program_expect(0, NULL, "fetch acme/moved");
  heard(1, "^store .*range=none");
  heard(1, "^store");
  expect_whole("moved");
  shell("cp " MODELS "moved/model.safetensors new; rm moved");
  program_expect(0, NULL, "fetch acme/moved");
  expect_whole("moved");
  shell("! cmp -s new " MODELS "moved/model.safetensors");
  program_expect(4, "has changed on the hub meanwhile", "fetch acme/changed");
}

/* If a link or a pipe stands where a part is to be written, fetch neither follows the link nor waits for the pipe. */
static void test_in_the_part_s_place(void **state) {
  (void)state;
  static const char *const things[] = {"ln -s ../../../../../precious", "ln -s nowhere", "mkfifo",
                                       "ln ../../../../../precious", "mkdir"};
  leave_a_part("damaged-once");
  for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
    shell("cd " MODELS
          "damaged-once && echo precious >../../../../../precious && part=$(ls) && rm -rf $part && %s $part",
          things[i]);
    program_expect(6, i < 4 ? "stands where the file is to be written: remove it" : "Is a directory",
                   "fetch acme/damaged-once");
    shell("test \"$(cat precious)\" = precious");
  }
}

static void test_wrong_bytes(void **state) {
  (void)state;
  program_expect(4, "do not have the hub's checksum", "fetch acme/damaged");
  program_expect(4, "has 600004 bytes, and the hub's list says 600000", "fetch acme/longer");
  program_expect(4, "has 599996 bytes", "fetch acme/shorter");
  program_expect(4, "is longer than the hub's list says", "fetch acme/unsaid-length");
  shell(
      "test -z \"$(find data -name '*.safetensors')\" && test -z \"$(find data/reverie/models/acme/damaged -type f)\"");
}

/* Returns how many bytes of the model are on the disk. */
static long slow_bytes(void) {
  char *count = (char *)shell_output(NULL, "cat %s*.part 2>/dev/null | wc -c", MODELS "slow/");
  long bytes = atol(count);
  free(count);
  return bytes;
}

/* Interrupts a download, and returns how many bytes had come, which depends on the machine. */
static long interrupt(void) {
  struct outcome outcome;
  char line[80];
  pid_t pid = program_start("fetch acme/slow");
  for (int i = 0; i < WAIT_MS / 20 && !slow_bytes(); i++)
    usleep(20000);
  kill(pid, SIGINT);
  program_wait(&outcome, pid);
  long bytes = slow_bytes();
  assert_in_range(bytes, 1, 250000);
  snprintf(line, sizeof line, "interrupted; %.1f kB of 600.0 kB are there, and the same command goes on", bytes * 1e-3);
  assert_int_equal(outcome.status, 130);
  assert_int_equal(outcome.lines, 1);
  if (!strstr(outcome.said, line))
    fail_msg("not \"%s\": %s", line, outcome.said);
  return bytes;
}

static void test_interrupted(void **state) {
  (void)state;
  char resumed[60];
  long bytes = interrupt();
  shell("rm -f slow.there");
  pid_t pid = program_start("fetch acme/slow");
  wait_for("slow.there");
  kill(pid, SIGKILL);
  struct outcome outcome;
  program_wait(&outcome, pid);
  assert_in_range(slow_bytes(), bytes, 250000);
  snprintf(resumed, sizeof resumed, "^store .*range=bytes=%ld-", slow_bytes());
  shell("touch go; : >heard.txt");
  program_expect(0, NULL, "fetch acme/slow");
  heard(1, resumed);
}

static void test_two_at_once(void **state) {
  (void)state;
  struct outcome outcome;
  pid_t pid = program_start("fetch acme/slow 2>first.txt");
  wait_for("slow.there");
  program_expect(6, "another process is fetching it", "fetch acme/slow");
  program_expect(4, "is not all there yet", "info slow");
  shell("touch go");
  program_wait(&outcome, pid);
  assert_int_equal(outcome.status, 0);
  shell("test \"$(ls -A " MODELS "slow)\" = model.safetensors");
}

/* --- invalid lists of files --- */

static void test_hostile_names(void **state) {
  (void)state;
  program_expect(0, "left out: 20 that no file here may be called", "fetch acme/hostile");
  shell("test \"$(find data ! -type d)\" = " MODELS "hostile/model.safetensors && test ! -e /tmp/x.safetensors");
  program_expect(2, "has no file ../x.safetensors", "fetch acme/hostile ../x.safetensors");
  program_expect(2, "has no file .hidden", "fetch acme/hostile .hidden.safetensors");
  program_expect(4, "lists model.safetensors twice", "fetch acme/twice");
}

static void test_hostile_lists(void **state) {
  (void)state;
  static const char *const none[] = {"no-json", "no-list", "no-bytes", "deep", "half", "list", "strings"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    program_expect(4, "no list of files", "fetch acme/%s", none[i]);
  program_expect(4, "has no end", "fetch acme/endless");
  program_expect(6, "9007199.25 GB are still to come, and /", "fetch acme/size-huge");
  program_expect(4, "gives no size for model.safetensors", "fetch acme/size-beyond");
  program_expect(4, "gives no size", "fetch acme/size-negative");
  program_expect(4, "gives no size", "fetch acme/size-word");
  program_expect(4, "gives no checksum", "fetch acme/unchecked");
  shell("test ! -e data");
}

/* --- the disk --- */

static void test_disk(void **state) {
  (void)state;
  leave_a_part("plain");
  shell(": >heard.txt");
  program_expect(0, NULL, "fetch acme/plain");
  heard(1, "^store .*range=bytes=204800-");
  program_expect(6, "/proc/reverie", "export XDG_DATA_HOME=/proc; @ fetch acme/plain");
  program_expect(6, "Not a directory", "export XDG_DATA_HOME=$PWD/heard.txt; @ fetch acme/plain");
  program_expect(6, "neither XDG_DATA_HOME nor HOME", "unset XDG_DATA_HOME HOME; @ fetch acme/plain");
  program_expect(6, "standard output", "fetch acme/plain >/dev/full");
  shell("rm data/reverie/models/acme/plain/*; mkdir data/reverie/models/acme/plain/model.safetensors");
  program_expect(6, "plain/model.safetensors: Is a directory", "fetch acme/plain");
}

/* Whatever call fails, a line says so, and the next run completes the download. */
static void test_faults(void **state) {
  (void)state;
  static const char *const kinds[] = {"read", "write", "open", "file", "alloc"};
  struct outcome outcome;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (int at = 1; at < 28; at += at < 3 ? 1 : 12) {
      shell("rm -rf data");
      program_run(&outcome,
                  "export LD_PRELOAD='%s' REVERIE_INJECT_KIND=%s REVERIE_INJECT_IN=reverie "
                  "REVERIE_INJECT_AT=%d; @ fetch -q acme/plain",
                  inject, kinds[k], at);
      if ((outcome.status && outcome.lines != 1) || outcome.status > 6)
        fail_msg("%s %d: status %d: %s", kinds[k], at, outcome.status, outcome.said);
      shell("test ! -e " MODELS "plain/model.safetensors || test $(stat -c %%s " MODELS
            "plain/model.safetensors) = 600000");
    }
  program_expect(0, NULL, "fetch acme/plain");
  expect_whole("plain");
}

/* --- the connection --- */

static void test_tls(void **state) {
  (void)state;
  if (access(clip("cert.pem"), F_OK))
    skip();
  program_expect(4, "certificate", "export HF_ENDPOINT=https://127.0.0.1:%d; @ fetch acme/lora", tls_port);
  shell("test ! -s heard.txt");
  program_expect(0, NULL, "export HF_ENDPOINT=https://127.0.0.1:%d CURL_CA_BUNDLE=cert.pem; @ fetch acme/lora",
                 tls_port);
  heard(1, "^tls .*\\?signed token=none");
  heard(2, "^tls .*token=Bearer");
  program_expect(4, "only https:// is followed",
                 "export HF_ENDPOINT=https://127.0.0.1:%d CURL_CA_BUNDLE=cert.pem; @ fetch acme/downgrade", tls_port);
  heard(0, "^store");
}

/* Proxies are taken from the environment. */
static void test_proxy(void **state) {
  (void)state;
  struct outcome outcome;
  program_run(&outcome, "unset no_proxy NO_PROXY; export http_proxy=$HF_ENDPOINT HF_ENDPOINT=http://hub.invalid; "
                        "@ fetch acme/lora");
  assert_int_equal(outcome.status, 4);
  heard(1, "^hub http://hub.invalid/api/models/acme/lora");
}

static long connections(const char *arguments) {
  struct outcome outcome;
  program_run(&outcome, "export LD_PRELOAD='%s' REVERIE_CONNECTIONS=connections.txt; @ %s", shim, arguments);
  char *count = (char *)shell_output(NULL, "cat connections.txt 2>/dev/null | wc -l; rm -f connections.txt");
  long number = atol(count);
  free(count);
  return number;
}

/* No other command connects to the network for a model, whatever the name is and whether the model is there or not. */
static void test_nothing_else_connects(void **state) {
  (void)state;
  static const char *const quiet[] = {"info",
                                      "info acme/lora",
                                      RENDER "--model acme/pipeline",
                                      RENDER "--lora acme/lora",
                                      RENDER "--vae https://huggingface.co/acme/vae",
                                      "--generate models",
                                      "fetch --help",
                                      "bench --frames 1 --size 64x64 --model acme/vae --device cpu"};
  assert_true(connections("fetch acme/pipeline") > 0);
  for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
    if (connections(quiet[i]))
      fail_msg("%s opens the network", quiet[i]);
}

static void test_without_curl(void **state) {
  (void)state;
  program_set(without_curl);
  program_expect(1, "built without libcurl", "fetch acme/lora");
  program_expect(0, NULL, "info");
  program_set(program);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_pipeline, clear),
      cmocka_unit_test_setup(test_again, clear),
      cmocka_unit_test_setup(test_other_repositories, clear),
      cmocka_unit_test_setup(test_revisions, clear),
      cmocka_unit_test_setup(test_command_line, clear),
      cmocka_unit_test_setup(test_token, clear),
      cmocka_unit_test_setup(test_refusals, clear),
      cmocka_unit_test_setup(test_cut, clear),
      cmocka_unit_test_setup(test_resumes, clear),
      cmocka_unit_test_setup(test_in_the_part_s_place, clear),
      cmocka_unit_test_setup(test_changes, clear),
      cmocka_unit_test_setup(test_wrong_bytes, clear),
      cmocka_unit_test_setup(test_interrupted, clear),
      cmocka_unit_test_setup(test_two_at_once, clear),
      cmocka_unit_test_setup(test_hostile_names, clear),
      cmocka_unit_test_setup(test_hostile_lists, clear),
      cmocka_unit_test_setup(test_disk, clear),
      cmocka_unit_test_setup(test_tls, clear),
      cmocka_unit_test_setup(test_proxy, clear),
      cmocka_unit_test_setup(test_without_curl, clear),
  };
  const struct CMUnitTest with_shims[] = {
      cmocka_unit_test_setup(test_faults, clear),
      cmocka_unit_test_setup(test_nothing_else_connects, clear),
  };
  if (argc < 5 || !clips_open()) {
    puts("skipped: there is no ffmpeg program, or this is built without libcurl");
    return SKIPPED;
  }
  program = realpath(argv[1], NULL);
  without_curl = argv[2];
  if (argc > 6) {
    shim = realpath(argv[5], NULL);
    inject = realpath(argv[6], NULL);
  }
  program_set(program);
  set_environment();
  start_server(argv[3], argv[4]);
  int failed = argc > 6 ? cmocka_run_group_tests_name("with shims", with_shims, NULL, NULL)
                        : cmocka_run_group_tests(tests, NULL, NULL);
  kill(server, SIGTERM);
  waitpid(server, NULL, 0);
  clips_close();
  free(program);
  free(shim);
  free(inject);
  return failed;
}
