#version 330 core
// Draws text over a dark, translucent panel with round corners. The output colours are premultiplied by their alpha.
in vec2 at;
out vec4 color;

uniform sampler2D text; // the text, as large as the panel; alpha is not premultiplied
uniform vec2 size;
uniform float radius;
uniform float shade;    // opacity of the panel

void main() {
  vec2 half_size = size * 0.5;
  vec2 beyond = max(abs(at - half_size) - half_size + radius, 0.0);
  float inside = clamp(radius - length(beyond) + 0.5, 0.0, 1.0);
  vec4 glyphs = texelFetch(text, ivec2(at), 0);
  color = vec4(glyphs.rgb * glyphs.a, glyphs.a + shade * (1.0 - glyphs.a)) * inside;
}
