#version 330 core
// Draws the generated picture, enlarged by a Catmull-Rom filter. It is used only if a GPU draws, because it is too slow
// on a processor. The filter weighs four texels for each axis, sixteen in all, with nine bilinear reads: one read gives
// both middle texels of an axis with their weights.
in vec2 uv;
out vec4 color;

uniform sampler2D picture;
uniform float opacity, light; // opacity: over what was drawn before; light: factor of the colours, 0: black

void main() {
  vec2 size = vec2(textureSize(picture, 0));
  vec2 position = uv * size;
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
      sum += texture(picture, vec2(x[i].x, x[j].y)).rgb * (w[i].x * w[j].y);
  color = vec4(clamp(sum, 0.0, 1.0) * light, opacity);
}
