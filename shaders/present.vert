#version 330 core
// The picture's corners, as a strip of two triangles made from the vertex number alone.
uniform mat3 canvas;  // from the picture to the canvas, the rectangle that corners are pinned of; both from 0 to 1
uniform mat3 pin;     // from the canvas to clip space; its third row is the perspective of a corner pin
uniform vec2 columns; // part of the picture that is drawn, from the left, where clip distances are enabled
out vec2 uv;          // 0, 0 is the picture's top left corner
out float gl_ClipDistance[6];

void main() {
  uv = vec2(gl_VertexID & 1, 1 - (gl_VertexID >> 1));
  vec3 on_canvas = canvas * vec3(uv, 1.0);
  vec3 position = pin * on_canvas;
  gl_Position = vec4(position.xy, 0.0, position.z); // uv's interpolation divides by the last, too
  gl_ClipDistance[0] = on_canvas.x;
  gl_ClipDistance[1] = 1.0 - on_canvas.x;
  gl_ClipDistance[2] = on_canvas.y;
  gl_ClipDistance[3] = 1.0 - on_canvas.y;
  gl_ClipDistance[4] = uv.x - columns.x;
  gl_ClipDistance[5] = columns.y - uv.x;
}
