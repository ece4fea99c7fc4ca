#version 330 core
// Draws the generated picture with one texture read for each pixel. If OpenGL draws on the processor, this is seven
// times as fast as code that chooses between methods.
in vec2 uv;
out vec4 color;

uniform sampler2D picture;
uniform float opacity, light; // opacity: over what was drawn before; light: factor of the colours, 0: black

void main() {
  color = vec4(texture(picture, uv).rgb * light, opacity);
}
