#include "tests/rigs/models_rig.h"

#include <stdlib.h>

#include "tests/rigs/fixture.h"

void models_open(struct models *m, char **args, const char *scratch, const char *name,
                 const struct single_file_change *change) {
  *m = (struct models){.rig = {.controls = CONTROLS_DEFAULTS}, .device = args[2]};
  if (golden_open(&m->rig.golden, args[1], name) < 0)
    fail_msg("%s", m->rig.golden.missing);
  single_file_write(&m->rig.golden, scratch, "model.safetensors", change);
  m->file = fixture_path(scratch, "model.safetensors");
  m->vae = fixture_path(m->rig.golden.folder, "vae");
  m->unet = fixture_path(m->rig.golden.folder, "unet/diffusion_pytorch_model.safetensors");
}

void models_close(struct models *m) {
  golden_close(&m->rig.golden);
  free(m->file);
  free(m->vae);
  free(m->unet);
}

uint8_t *models_picture(struct models *m, const struct engine_params *params) {
  const struct engine_shape shape = default_shape(&m->rig.golden);
  must(rig_engine(&m->rig, params, &shape), &m->rig.err);
  must(engine_set_prompt(m->rig.engine, 1, "an oil painting", &m->rig.err), &m->rig.err);
  m->rig.controls.prompt = 1;
  uint8_t *picture = generate_default(&m->rig);
  engine_close(&m->rig.engine);
  return picture;
}

struct engine_params models_file_params(const struct models *m) {
  struct engine_params params = default_params(&m->rig.golden, m->device);
  params.model = m->file;
  params.config = m->rig.golden.folder;
  params.vae = m->vae;
  return params;
}

void models_refuse(struct models *m, const struct engine_params *params, const char *says) {
  assert_int_equal(rig_engine(&m->rig, params, &(struct engine_shape){0}), -1);
  assert_error(&m->rig.err, STATUS_MODEL, says);
}
