#version 330 core
// The picture's corners, as a strip of two triangles made from the vertex number alone.

// the map from the picture to the canvas (the window before its corners are moved); positions in both are 0 to 1
uniform mat3 canvas;
// the map from the canvas to OpenGL's clip space; its third row is the perspective of a corner pin (moved corners)
uniform mat3 pin;
// left and right end of the part of the picture that is drawn, 0 to 1; they count only if clip distances are enabled
uniform vec2 columns;
out vec2 uv; // position in the picture; 0, 0 is its top left corner
out float gl_ClipDistance[6];

void main() {
  uv = vec2(gl_VertexID & 1, 1 - (gl_VertexID >> 1));
  vec3 on_canvas = canvas * vec3(uv, 1.0);
  vec3 position = pin * on_canvas;
  gl_Position = vec4(position.xy, 0.0, position.z); // the last is w, for uv in perspective
  gl_ClipDistance[0] = on_canvas.x;
  gl_ClipDistance[1] = 1.0 - on_canvas.x;
  gl_ClipDistance[2] = on_canvas.y;
  gl_ClipDistance[3] = 1.0 - on_canvas.y;
  gl_ClipDistance[4] = uv.x - columns.x;
  gl_ClipDistance[5] = columns.y - uv.x;
}
