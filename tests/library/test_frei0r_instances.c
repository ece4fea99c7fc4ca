/* Several instances of the frei0r filter, as MLT uses them: one on each of its threads, destroyed after f0r_deinit, and
 * the plug-in unloaded then. They share an engine, and each makes the pictures of its own values.
 *
 * The file of the plug-in is the program's argument. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <string.h>
#include <cmocka.h>

#include <frei0r.h>
#include <reverie.h>

enum { SIDE = 64, PIXELS = SIDE * SIDE, INSTANCES = 4, FRAMES = 3 };

static const char *plugin;
static void *library; /* what dlopen returned for the plug-in */
static const char *const prompts[] = {"ink drawing", "watercolor"};

/* The plug-in calls this instead of the library's function, because the program comes before the library. */
static atomic_int opened;
int reverie_open(struct reverie *reverie, struct reverie_error *error) {
  int (*next)(struct reverie *, struct reverie_error *);
  *(void **)&next = dlsym(library, "reverie_open");
  opened++;
  return next(reverie, error);
}

/* --- the plug-in --- */

struct filter {
  int (*init)(void);
  void (*deinit)(void);
  f0r_instance_t (*construct)(unsigned, unsigned);
  void (*destruct)(f0r_instance_t);
  void (*set)(f0r_instance_t, f0r_param_t, int);
  void (*update)(f0r_instance_t, double, const uint32_t *, uint32_t *);
};

static void load(struct filter *filter) {
  const struct {
    const char *name;
    void *at;
  } functions[] = {{"f0r_init", &filter->init},           {"f0r_deinit", &filter->deinit},
                   {"f0r_construct", &filter->construct}, {"f0r_destruct", &filter->destruct},
                   {"f0r_set_param_value", &filter->set}, {"f0r_update", &filter->update}};
  library = dlopen(plugin, RTLD_NOW);
  if (!library)
    fail_msg("%s", dlerror());
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *function = dlsym(library, functions[i].name);
    assert_non_null(function);
    memcpy(functions[i].at, &function, sizeof function);
  }
  assert_int_equal(filter->init(), 1);
}

static f0r_instance_t begin(const struct filter *filter, const char *prompt) {
  f0r_instance_t instance = filter->construct(SIDE, SIDE);
  assert_non_null(instance);
  filter->set(instance, &prompt, 0);
  return instance;
}

/* --- instances on threads --- */

struct worker {
  const struct filter *filter;
  f0r_instance_t instance;
  uint32_t made[FRAMES][PIXELS];
};

static void draw(uint32_t *pixels, int number) {
  for (int i = 0; i < PIXELS; i++)
    pixels[i] = 0xff000000u | (uint32_t)(i % SIDE * 4) << 16 | (uint32_t)(i / SIDE * 3) << 8 | (uint32_t)(number * 60);
}

static void *work(void *opaque) {
  struct worker *worker = opaque;
  for (int i = 0; i < FRAMES; i++) {
    uint32_t frame[PIXELS];
    draw(frame, i);
    worker->filter->update(worker->instance, i, frame, worker->made[i]);
  }
  return NULL;
}

static void instances_share_an_engine(void **state) {
  (void)state;
  static struct worker alone[2], workers[INSTANCES];
  struct filter filter;
  pthread_t threads[INSTANCES];
  load(&filter);
  for (int i = 0; i < 2; i++) {
    alone[i] = (struct worker){.filter = &filter, .instance = begin(&filter, prompts[i])};
    work(&alone[i]);
    filter.destruct(alone[i].instance);
  }
  assert_int_equal(opened, 2);
  assert_memory_not_equal(alone[0].made, alone[1].made, sizeof alone->made);
  opened = 0;
  for (int i = 0; i < INSTANCES; i++)
    workers[i] = (struct worker){.filter = &filter, .instance = begin(&filter, prompts[i % 2])};
  for (int i = 0; i < INSTANCES; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  for (int i = 0; i < INSTANCES; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(opened, 1);
  for (int i = 0; i < INSTANCES; i++)
    assert_memory_equal(workers[i].made, alone[i % 2].made, sizeof alone->made);
  filter.deinit();
  for (int i = 0; i < INSTANCES; i++)
    filter.destruct(workers[i].instance);
  dlclose(library);
}

/* An instance whose model changes leaves the engine to the others. */
static void a_model_of_its_own(void **state) {
  (void)state;
  static uint32_t frame[PIXELS], before[PIXELS], after[PIXELS];
  const char *nowhere = "/nowhere";
  struct filter filter;
  load(&filter);
  f0r_instance_t one = begin(&filter, prompts[0]), other = begin(&filter, prompts[0]);
  draw(frame, 0);
  filter.update(one, 0, frame, before);
  assert_memory_not_equal(before, frame, sizeof frame);
  filter.update(other, 0, frame, after);
  filter.set(other, &nowhere, 4);
  filter.update(other, 0, frame, after);
  assert_memory_equal(after, frame, sizeof frame);
  filter.update(one, 0, frame, after);
  assert_memory_equal(after, before, sizeof frame);
  filter.destruct(one);
  filter.destruct(other);
  filter.deinit();
  dlclose(library);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instances_share_an_engine),
      cmocka_unit_test(a_model_of_its_own),
  };
  if (argc != 2)
    return 2;
  plugin = argv[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
