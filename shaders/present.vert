#version 330 core
// The picture's rectangle, as a strip of two triangles made from the vertex number alone.
uniform vec4 rect; // left, bottom, right, top in clip space
out vec2 uv;       // 0, 0 is the picture's top left corner

void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  gl_Position = vec4(mix(rect.xy, rect.zw, corner), 0.0, 1.0);
  uv = vec2(corner.x, 1.0 - corner.y);
}
