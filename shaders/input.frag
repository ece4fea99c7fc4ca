#version 330 core
// Draws the frame from which the picture was made, in its own pixel format, fitted as the engine fits it.
in vec2 uv;
out vec4 color;

uniform sampler2D plane0, plane1, plane2;
uniform int layout_kind;   // a value of enum plane_layout (app/window/present.c)
uniform float sample_scale;
uniform mat3 yuv_to_rgb;
uniform vec3 yuv_zero;
uniform float opacity, light; // opacity: over what was drawn before; light: factor of the colours, 0: black
uniform vec2 scale;           // width and height of the frame's middle part that the picture shows, as fractions of the
                              // frame; above 1: bars beside it

void main() {
  vec2 at = (uv - 0.5) * scale + 0.5;
  bool outside = any(lessThan(at, vec2(0.0))) || any(greaterThan(at, vec2(1.0)));
  vec4 first = texture(plane0, at);
  vec3 rgb = first.rgb;
  if (layout_kind != 0) {
    vec3 yuv = vec3(first.r, 0.0, 0.0);
    if (layout_kind == 1)
      yuv.yz = texture(plane1, at).rg;
    else if (layout_kind == 2)
      yuv.yz = vec2(texture(plane1, at).r, texture(plane2, at).r);
    else
      yuv.yz = texture(plane1, at).ga;
    rgb = clamp(yuv_to_rgb * (yuv * sample_scale - yuv_zero), 0.0, 1.0);
  }
  color = vec4(outside ? vec3(0.0) : rgb * light, opacity);
}
