#include "unet/base/mixture.h"

#include <math.h>

#include "unet/base/channels.h"

bool mixture_takes(enum pixel_format format) {
  return format == PIXEL_NV12 || format == PIXEL_P010;
}

static struct mixture_planes planes_of(const struct frame *frame) {
  return (struct mixture_planes){.plane = {frame->plane[0], frame->plane[1]},
                                 .pitch = {frame->pitch[0], frame->pitch[1]},
                                 .width = frame->width,
                                 .height = frame->height,
                                 .wide = frame->format == PIXEL_P010};
}

/* Sets the conversion of samples. Cb' and Cr' do not depend on Y, because grey is grey in every matrix. */
static void set_conversion(struct mixture *mixture, const struct frame *from, const struct frame *to) {
  const struct coding a = frame_coding(from), b = frame_coding(to);
  /* 16 bits of a sample of P010 are 64 times the number that the coding is for */
  double unit_a = from->format == PIXEL_P010 ? 64 : 1, unit_b = to->format == PIXEL_P010 ? 64 : 1;
  bool same = from->matrix == to->matrix;
  /* how Cb and Cr change Y', where the matrices differ */
  double by_cb = same ? 0 : b.g * a.g_cb + b.b * a.b_cb, by_cr = same ? 0 : b.r * a.r_cr + b.g * a.g_cr;
  double blue[2] = {same ? 1 : (a.b_cb - by_cb) / b.b_cb, same ? 0 : -by_cr / b.b_cb};
  double red[2] = {same ? 0 : -by_cb / b.r_cr, same ? 1 : (a.r_cr - by_cr) / b.r_cr};
  double luma = unit_b * b.range[0] / (unit_a * a.range[0]);
  double chroma = unit_b * b.range[1] / (unit_a * a.range[1]), zero = unit_a * a.zero[1];
  double into_luma = unit_b * b.range[0] / (unit_a * a.range[1]);
  const double lines[3][4] = {
      {unit_b * b.zero[0] - luma * unit_a * a.zero[0] - into_luma * (by_cb + by_cr) * zero, luma, into_luma * by_cb,
       into_luma * by_cr},
      {unit_b * b.zero[1] - chroma * (blue[0] + blue[1]) * zero, chroma * blue[0], chroma * blue[1]},
      {unit_b * b.zero[2] - chroma * (red[0] + red[1]) * zero, chroma * red[0], chroma * red[1]}};
  for (int i = 0; i < 4; i++)
    mixture->luma[i] = (float)lines[0][i];
  for (int i = 0; i < 3; i++) {
    mixture->blue[i] = (float)lines[1][i];
    mixture->red[i] = (float)lines[2][i];
  }
  mixture->black[0] = (int)(unit_b * b.zero[0]);
  mixture->black[1] = (int)(unit_b * b.zero[1]);
}

void mixture_set_up(struct mixture *mixture, const struct frame *from, const struct mixture_part *of,
                    const struct frame *to, const struct mixture_part *at, float share) {
  *mixture = (struct mixture){
      .from = planes_of(from), .to = planes_of(to), .of = *of, .at = *at, .share = (int)lrintf(share * 256)};
  set_conversion(mixture, from, to);
}

/* --- the definition --- */

/* One of the components Y, Cb, Cr (0 to 2) of planes. */
static float sample(const struct mixture_planes *planes, int component, int x, int y) {
  const uint8_t *row = planes->plane[component > 0] + (ptrdiff_t)y * planes->pitch[component > 0];
  int i = component ? 2 * x + component - 1 : x;
  return planes->wide ? (float)((const uint16_t *)(const void *)row)[i] : (float)row[i];
}

/* Samples that count for a point along one axis: sample i counts with radius - |i - centre|, if that is more than 0. */
struct reach {
  float centre, radius;
  /* indices of the first and last sample of the part; a sample beyond them is replaced by the nearest of the two */
  int least, most;
};

/* position: of the point, in pixels of the result. half: the component has half the frame's samples. */
static struct reach reach_of(float position, int at, int at_size, int of, int of_size, bool half) {
  float step = (float)of_size / (float)at_size, scale = half ? 0.5f : 1.0f;
  float centre = ((float)of + (position - (float)at) * step) * scale - 0.5f;
  return (struct reach){centre, fmaxf(step * scale, 1.0f), half ? of / 2 : of,
                        half ? (of + of_size + 1) / 2 - 1 : of + of_size - 1};
}

static int clip(int i, const struct reach *reach) {
  return i < reach->least ? reach->least : i > reach->most ? reach->most : i;
}

static float mean(const struct mixture_planes *planes, int component, const struct reach *x, const struct reach *y) {
  float sum = 0, total = 0;
  for (int j = (int)ceilf(y->centre - y->radius); (float)j < y->centre + y->radius; j++)
    for (int i = (int)ceilf(x->centre - x->radius); (float)i < x->centre + x->radius; i++) {
      float weight = (x->radius - fabsf((float)i - x->centre)) * (y->radius - fabsf((float)j - y->centre));
      sum += weight * sample(planes, component, clip(i, x), clip(j, y));
      total += weight;
    }
  return sum / total;
}

/* Returns the component Y, Cb or Cr of `from` at a point of the result, in pixels. */
static float from_value(const struct mixture *m, int component, float x, float y) {
  bool half = component > 0;
  struct reach across = reach_of(x, m->at.left, m->at.width, m->of.left, m->of.width, half);
  struct reach down = reach_of(y, m->at.top, m->at.height, m->of.top, m->of.height, half);
  return mean(&m->from, component, &across, &down);
}

static int rounded(const struct mixture *m, float value) {
  long most = m->to.wide ? 65535 : 255, nearest = lrintf(value);
  return (int)(nearest < 0 ? 0 : nearest > most ? most : nearest);
}

/* Returns the component of `from`, converted to the format of `to`, at the sample (x, y) of that component. */
static int converted(const struct mixture *m, int component, int x, int y) {
  int size = component ? 2 : 1;
  int left = m->at.left / size, top = m->at.top / size;
  int right = (m->at.left + m->at.width + size - 1) / size, bottom = (m->at.top + m->at.height + size - 1) / size;
  if (x < left || y < top || x >= right || y >= bottom)
    return m->black[component > 0];
  float px = component ? 2.0f * (float)x + 1 : (float)x + 0.5f, py = component ? 2.0f * (float)y + 1 : (float)y + 0.5f;
  if (component) {
    const float *k = component == 1 ? m->blue : m->red;
    return rounded(m, k[0] + k[1] * from_value(m, 1, px, py) + k[2] * from_value(m, 2, px, py));
  }
  float value = m->luma[0] + m->luma[1] * from_value(m, 0, px, py);
  if (m->luma[2] != 0 || m->luma[3] != 0)
    value += m->luma[2] * from_value(m, 1, px, py) + m->luma[3] * from_value(m, 2, px, py);
  return rounded(m, value);
}

static void make_sample(const struct mixture *m, uint8_t *const out[2], int component, int x, int y) {
  int plane = component > 0, i = component ? 2 * x + component - 1 : x;
  int to = (int)sample(&m->to, component, x, y);
  int mixed = (converted(m, component, x, y) * (256 - m->share) + to * m->share + 128) >> 8;
  uint8_t *row = out[plane] + (ptrdiff_t)y * m->to.pitch[plane];
  if (m->to.wide)
    ((uint16_t *)(void *)row)[i] = (uint16_t)mixed;
  else
    row[i] = (uint8_t)mixed;
}

void mixture_make(const struct mixture *mixture, uint8_t *const out[2]) {
  for (int component = 0; component < 3; component++) {
    int size = component ? 2 : 1;
    int width = (mixture->to.width + size - 1) / size, height = (mixture->to.height + size - 1) / size;
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++)
        make_sample(mixture, out, component, x, y);
  }
}
