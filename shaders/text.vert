#version 330 core
// Makes the rectangle of a panel of text.
uniform vec4 rect;   // left, top, right, bottom of the panel, in window pixels
uniform vec2 window; // size of the window in pixels
out vec2 at;         // position in pixels from the panel's top left corner

void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 pixel = mix(rect.xy, rect.zw, corner);
  at = pixel - rect.xy;
  gl_Position = vec4(pixel.x / window.x * 2.0 - 1.0, 1.0 - pixel.y / window.y * 2.0, 0.0, 1.0);
}
