/* Tests the program with models that are given by name, and how it lists the models that are stored. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

enum { SKIPPED = 77 };

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define RENDER "render pattern:96x64 null: --size 64x64 --frames 1 --device cpu "

static void make_models(void) {
  setenv("XDG_DATA_HOME", clip("data"), 1);
  setenv("HF_HOME", clip("hf"), 1);
  unsetenv("HF_HUB_CACHE");
  unsetenv("HUGGINGFACE_HUB_CACHE");
  shell("mkdir -p data/reverie/models/acme hf/hub/models--org--sd-small/refs hf/hub/models--org--sd-small/snapshots && "
        "cp -rL \"$REVERIE_GOLDENS\"/merged data/reverie/models/acme/merged && "
        "rm data/reverie/models/acme/merged/*.safetensors*");
  shell("cp -rL \"$REVERIE_GOLDENS\"/sd15 hf/hub/models--org--sd-small/snapshots/" COMMIT
        " && rm hf/hub/models--org--sd-small/snapshots/" COMMIT "/*.safetensors* && "
        "printf " COMMIT " >hf/hub/models--org--sd-small/refs/main && "
        "cp \"$REVERIE_GOLDENS\"/adapters/kohya.safetensors data/reverie/models/ && "
        "cp \"$REVERIE_GOLDENS\"/sd15/vae/* data/reverie/models/acme && mkdir data/reverie/models/acme/vae && "
        "mv data/reverie/models/acme/config.json data/reverie/models/acme/*.safetensors data/reverie/models/acme/vae");
}

static void test_models(void **state) {
  (void)state;
  program_expect(0, NULL, RENDER "-q --model acme/merged");
  program_expect(0, NULL, RENDER "-q --model sd-small");
  program_expect(0, NULL, RENDER "-q --model org/sd-small --vae acme/vae --lora kohya:0.5 --lora kohya");
  program_expect(4, "near it: org/sd-small", RENDER "--model sd-smal");
  program_expect(4, "near it: kohya", RENDER "--lora koya:0.5");
  program_expect(4, "`reverie fetch ORG/NAME` gets one", RENDER "--vae nowhere/taesd");
  program_expect(4, "no model of this name", RENDER "--unet nowhere");
  program_expect(4, "no model of this name", "info --config nowhere");
}

/* A snapshot's folder is named after its commit, so info shows the name of the repository instead. */
static void test_info(void **state) {
  (void)state;
  program_expect(0, NULL, "info -q sd-small");
  shell("grep -q '^model  *sd-small, native size' out.txt && ! grep -q ^models out.txt");
  program_expect(0, NULL, "info kohya");
  shell("grep -q LoRA out.txt");
}

static void test_list(void **state) {
  (void)state;
  shell("echo damaged >data/reverie/models/bad.safetensors; mkdir -p data/reverie/models/acme/worse; "
        "echo '[' >data/reverie/models/acme/worse/model_index.json; touch data/reverie/models/acme/vae/.unfinished");
  program_expect(0, NULL, "info");
  shell("sed -n '/^models$/,/^$/p' out.txt >list.txt; test \"$(grep -c . list.txt)\" = 7 && "
        "grep -q '^  acme/merged  *a family of its own  *0.[0-9] MB  /.*/data/reverie/models/acme/merged$' list.txt && "
        "grep -q '^  org/sd-small .*/snapshots/" COMMIT "$' list.txt && "
        "grep -q '^  kohya  *a LoRA .*kohya.safetensors$' list.txt && "
        "grep -q '^  bad  *cannot be used: .*too few' list.txt && "
        "grep -q '^  acme/worse  *cannot be used: .*model_index.json' list.txt && "
        "grep -q '^  acme/vae  *cannot be used: .*reverie fetch acme/vae' list.txt");
  program_expect(0, NULL, "export XDG_DATA_HOME=/nowhere HF_HOME=/nowhere; @ info");
  shell("grep -q '^  none in /nowhere/reverie/models or /nowhere/hub; .reverie fetch' out.txt; "
        "rm -r data/reverie/models/bad.safetensors data/reverie/models/acme/worse data/reverie/models/acme/vae/.unf*");
}

/* Checks the completions that bash offers with the installed script. */
static void complete(const char *words, const char *wanted) {
  shell("cat >complete.sh <<'END'\n. ./reverie.bash\ncompopt() { :; }\nCOMP_WORDS=(./reverie %s)\n"
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_reverie ./reverie\nprintf '%%s\\n' \"${COMPREPLY[@]}\"\nEND\n"
        "bash complete.sh >completed.txt && printf '%s' | cmp - completed.txt",
        words, wanted);
}

static void test_completion(void **state) {
  (void)state;
  program_expect(0, NULL, "--generate models >names.txt");
  shell("printf 'acme/merged\\nacme/vae\\nkohya\\norg/sd-small\\n' | cmp - names.txt");
  program_expect(0, NULL, "--generate bash >reverie.bash");
  complete("render --model ac", "acme/merged\\nacme/vae\\n");
  complete("render --lora k", "kohya\\n");
  complete("live -m or", "org/sd-small\\n");
  complete("live --vae = acme/v", "acme/vae\\n");
  complete("info org", "org/sd-small\\n");
  complete("info o", "org/sd-small\\nout.txt\\n");
  complete("render comp", "complete.sh\\ncompleted.txt\\n");
}

/* A file may be named like a shell command, which completion must not execute. */
static void test_hostile_completion(void **state) {
  (void)state;
  shell("touch 'data/reverie/models/zz$(touch pwned)`touch pwned`;*$HOME.safetensors'");
  program_expect(0, NULL, "--generate bash >reverie.bash");
  complete("render --model zz", "zz$(touch pwned)`touch pwned`;*$HOME\\n");
  shell("! test -e pwned; rm data/reverie/models/zz*");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_models),
      cmocka_unit_test(test_info),
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_completion),
      cmocka_unit_test(test_hostile_completion),
  };
  if (argc < 2 || !clips_open()) {
    puts("skipped: there is no ffmpeg program");
    return SKIPPED;
  }
  program_set(argv[1]);
  make_models();
  char *path = realpath(argv[1], NULL);
  shell("ln -s '%s' reverie", path);
  free(path);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
