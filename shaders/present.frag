#version 330 core
// The generated picture and, left of the split, the frame that it was made from.
in vec2 uv;
out vec4 color;

uniform sampler2D picture;
uniform bool bicubic;      // smoother enlargement, where a GPU draws
uniform float split;       // 0: the picture alone, 1: the input alone
uniform float line;        // half the width of the dividing line, as a part of the width; 0: none

uniform sampler2D plane0, plane1, plane2; // of the input frame
uniform int layout_kind;                  // enum plane_layout of present.c
uniform float sample_scale;
uniform mat3 yuv_to_rgb;
uniform vec3 yuv_zero;
uniform vec2 input_scale;                 // how the engine fits the frame into its picture, about the centre

// Catmull-Rom: sixteen texels in nine bilinear reads, since the two middle weights of an axis can share one.
vec3 read_bicubic(sampler2D image, vec2 at) {
  vec2 size = vec2(textureSize(image, 0));
  vec2 position = at * size;
  vec2 center = floor(position - 0.5) + 0.5;
  vec2 f = position - center;
  vec2 w0 = f * (-0.5 + f * (1.0 - 0.5 * f));
  vec2 w1 = 1.0 + f * f * (-2.5 + 1.5 * f);
  vec2 w2 = f * (0.5 + f * (2.0 - 1.5 * f));
  vec2 w3 = f * f * (-0.5 + 0.5 * f);
  vec2 w12 = w1 + w2;
  vec2 x[3] = vec2[3]((center - 1.0) / size, (center + w2 / w12) / size, (center + 2.0) / size);
  vec2 w[3] = vec2[3](w0, w12, w3);
  vec3 sum = vec3(0.0);
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      sum += texture(image, vec2(x[i].x, x[j].y)).rgb * (w[i].x * w[j].y);
  return clamp(sum, 0.0, 1.0);
}

vec3 read_input(vec2 at) {
  vec2 p = (at - 0.5) * input_scale + 0.5;
  if (any(lessThan(p, vec2(0.0))) || any(greaterThan(p, vec2(1.0))))
    return vec3(0.0);
  vec4 first = texture(plane0, p);
  if (layout_kind == 0)
    return first.rgb;
  vec3 yuv = vec3(first.r, 0.0, 0.0);
  if (layout_kind == 1)
    yuv.yz = texture(plane1, p).rg;
  else if (layout_kind == 2)
    yuv.yz = vec2(texture(plane1, p).r, texture(plane2, p).r);
  else
    yuv.yz = texture(plane1, p).ga;
  return clamp(yuv_to_rgb * (yuv * sample_scale - yuv_zero), 0.0, 1.0);
}

void main() {
  vec3 rgb;
  if (uv.x < split)
    rgb = read_input(uv);
  else
    rgb = bicubic ? read_bicubic(picture, uv) : texture(picture, uv).rgb;
  float away = abs(uv.x - split);
  if (line > 0.0 && away < 2.0 * line)
    rgb = away < line ? vec3(1.0) : rgb * 0.35;
  color = vec4(rgb, 1.0);
}
