/* A filter of OBS, which restyles any source that has video. OBS's graphics thread renders the source. It copies the
 * pixels from GPU memory one frame later, when they are ready, so that it does not wait for the GPU. A thread of the
 * filter (obs_worker.c) makes pictures of the newest frame.
 *
 * The filter draws the newest finished picture in the source's size. Before the first picture, and after the engine has
 * failed, it draws the source itself. The licence of the compiled plug-in stands in obs_filter.h. */
#include "app/library/obs_filter.h"

OBS_DECLARE_MODULE()

/* A copy of the source's pixels that the GPU makes. */
struct staging {
  gs_stagesurf_t *surface; /* surface to which the GPU copies a frame; NULL: not created yet */
  bool filled;             /* true: the GPU was told to copy a frame to this surface, and the worker has not got that
                            * frame yet */
  int64_t time_ns;         /* time of the frame that was copied last, in ns from the first frame */
};

struct filter {
  obs_source_t *source; /* the filter itself, which owns this struct */
  /* List of the parameters that OBS shows. Each filter has a list of its own. All filters of this type cannot share
   * one, because libobs may free a list that belongs to the type while a filter still exists. */
  struct obs_rows *rows;
  struct worker *worker;

  /* The following fields are used only by the graphics thread. */
  bool captured;          /* true: the source was captured in the present frame of OBS already; OBS may draw a source
                           * several times in a frame */
  uint64_t start;         /* time of the first frame, in ns of OBS's clock; 0: none came yet */
  gs_texrender_t *render; /* render target in which OBS draws the source; NULL: it was not created yet */
  struct staging staging[2];
  int turn;               /* index in `staging` of the surface to which the next frame is copied */
  uint32_t width, height; /* size of the surfaces in `staging`, in pixels */
  gs_texture_t *texture;  /* the picture that is drawn; NULL: none came yet */
};

/* --- capturing the source --- */

/* Makes the two staging surfaces, through which pixels are copied from the GPU, in the source's size, unless they have
 * that size already. Returns false after a failure. */
static bool fit_surfaces(struct filter *filter, uint32_t width, uint32_t height) {
  if (!filter->render)
    filter->render = gs_texrender_create(GS_RGBA, GS_ZS_NONE);
  for (int i = 0; i < 2; i++) {
    struct staging *staging = &filter->staging[i];
    if (staging->surface && filter->width == width && filter->height == height)
      continue;
    gs_stagesurface_destroy(staging->surface);
    *staging = (struct staging){.surface = gs_stagesurface_create(width, height, GS_RGBA)};
  }
  filter->width = width;
  filter->height = height;
  return filter->render && filter->staging[0].surface && filter->staging[1].surface;
}

/* Renders the source as it is before this filter. Returns false if that is not possible. */
static bool render_source(struct filter *filter, obs_source_t *target, obs_source_t *parent) {
  uint32_t flags = obs_source_get_output_flags(target);
  struct vec4 black;
  gs_texrender_reset(filter->render);
  if (!gs_texrender_begin(filter->render, filter->width, filter->height))
    return false;
  vec4_zero(&black);
  gs_clear(GS_CLEAR_COLOR, &black, 0, 0);
  gs_ortho(0, (float)filter->width, 0, (float)filter->height, -100, 100);
  gs_blend_state_push();
  gs_blend_function(GS_BLEND_ONE, GS_BLEND_ZERO);
  if (target == parent && !(flags & (OBS_SOURCE_CUSTOM_DRAW | OBS_SOURCE_ASYNC)))
    obs_source_default_render(target);
  else
    obs_source_video_render(target);
  gs_blend_state_pop();
  gs_texrender_end(filter->render);
  return true;
}

/* Hands the frame in `staging` (a surface for copies from the GPU to host memory) to the worker's thread. The copy was
 * begun one OBS frame earlier, so that reading it does not wait for the GPU. */
static void hand_over(struct filter *filter, struct staging *staging) {
  uint8_t *pixels;
  uint32_t pitch;
  if (!staging->filled || !gs_stagesurface_map(staging->surface, &pixels, &pitch))
    return;
  worker_offer(filter->worker, pixels, pitch, filter->width, filter->height, staging->time_ns);
  gs_stagesurface_unmap(staging->surface);
  staging->filled = false;
}

/* Begins to copy this frame of the source, and hands the previous frame to the worker. */
static void capture(struct filter *filter) {
  obs_source_t *target = obs_filter_get_target(filter->source), *parent = obs_filter_get_parent(filter->source);
  uint32_t width = obs_source_get_base_width(target), height = obs_source_get_base_height(target);
  if (!target || !parent || !width || !height || !fit_surfaces(filter, width, height) ||
      !render_source(filter, target, parent))
    return;
  struct staging *staging = &filter->staging[filter->turn];
  uint64_t now = obs_get_video_frame_time();
  filter->start = filter->start ? filter->start : now;
  gs_stage_texture(staging->surface, gs_texrender_get_texture(filter->render));
  staging->filled = true;
  staging->time_ns = (int64_t)(now - filter->start);
  filter->turn = !filter->turn;
  hand_over(filter, &filter->staging[filter->turn]);
}

/* --- drawing the picture --- */

/* Copies the newest picture to the texture, if the worker has a picture that was not taken yet. */
static void take_picture(struct filter *filter) {
  struct reverie_picture picture;
  if (!worker_take(filter->worker, &picture))
    return;
  uint32_t width = (uint32_t)picture.width, height = (uint32_t)picture.height;
  if (filter->texture &&
      (gs_texture_get_width(filter->texture) != width || gs_texture_get_height(filter->texture) != height)) {
    gs_texture_destroy(filter->texture);
    filter->texture = NULL;
  }
  if (!filter->texture)
    filter->texture = gs_texture_create(width, height, GS_RGBA, 1, NULL, GS_DYNAMIC);
  if (filter->texture)
    gs_texture_set_image(filter->texture, picture.plane[0], (uint32_t)picture.pitch[0], false);
  reverie_release(&picture);
}

static void draw(struct filter *filter) {
  obs_source_t *target = obs_filter_get_target(filter->source);
  uint32_t width = obs_source_get_base_width(target), height = obs_source_get_base_height(target);
  gs_effect_t *effect = obs_get_base_effect(OBS_EFFECT_DEFAULT);
  bool before = gs_framebuffer_srgb_enabled();
  gs_enable_framebuffer_srgb(true);
  gs_effect_set_texture_srgb(gs_effect_get_param_by_name(effect, "image"), filter->texture);
  while (gs_effect_loop(effect, "Draw"))
    gs_draw_sprite(filter->texture, 0, width, height);
  gs_enable_framebuffer_srgb(before);
}

/* --- the functions that OBS calls --- */

static const char *name_filter(void *type) {
  (void)type;
  return "Restyle (reverie)";
}

static void *create_filter(obs_data_t *settings, obs_source_t *source) {
  struct filter *filter = bzalloc(sizeof *filter);
  filter->source = source;
  filter->rows = rows_list();
  filter->worker = worker_start(filter->rows, wish_read(filter->rows, settings));
  if (filter->worker)
    return filter;
  rows_free(filter->rows);
  bfree(filter);
  return NULL;
}

/* Destroys a filter. OBS calls this function on a thread that only destroys things, so that nothing else stalls while
 * the function waits for the worker. */
static void destroy_filter(void *data) {
  struct filter *filter = data;
  worker_stop(filter->worker);
  rows_free(filter->rows);
  obs_enter_graphics();
  gs_texture_destroy(filter->texture);
  gs_stagesurface_destroy(filter->staging[0].surface);
  gs_stagesurface_destroy(filter->staging[1].surface);
  gs_texrender_destroy(filter->render);
  obs_leave_graphics();
  bfree(filter);
}

static void update_filter(void *data, obs_data_t *settings) {
  struct filter *filter = data;
  worker_set(filter->worker, wish_read(filter->rows, settings));
}

/* Called once in each OBS frame, before anything is drawn. If the filter was not drawn in the previous OBS frame, drops
 * the copies in `staging`: they are outdated and must not go to the worker. */
static void tick_filter(void *data, float seconds) {
  struct filter *filter = data;
  (void)seconds;
  if (!filter->captured)
    filter->staging[0].filled = filter->staging[1].filled = false;
  filter->captured = false;
}

static void render_filter(void *data, gs_effect_t *effect) {
  struct filter *filter = data;
  (void)effect;
  if (!filter->captured) {
    filter->captured = true;
    capture(filter);
    take_picture(filter);
  }
  if (filter->texture && !worker_failed(filter->worker))
    draw(filter);
  else
    obs_source_skip_video_filter(filter->source);
}

const char *obs_module_name(void) {
  return "reverie";
}

const char *obs_module_description(void) {
  return "Restyles the picture with a diffusion network";
}

bool obs_module_load(void) {
  struct obs_source_info info = {.id = "reverie_restyle",
                                 .type = OBS_SOURCE_TYPE_FILTER,
                                 .output_flags = OBS_SOURCE_VIDEO | OBS_SOURCE_SRGB,
                                 .get_name = name_filter,
                                 .create = create_filter,
                                 .destroy = destroy_filter,
                                 .update = update_filter,
                                 .video_tick = tick_filter,
                                 .video_render = render_filter,
                                 .get_defaults = set_defaults,
                                 .get_properties = make_properties};
  obs_register_source(&info);
  return true;
}
