#include "unet/checkpoint/format.h"

#include <string.h>
#include <strings.h>

enum { FORMAT_BYTES = 32 };

static bool ends_with(const char *path, const char *ending) {
  size_t length = strlen(path), size = strlen(ending);
  return length > size && !strcasecmp(path + length - size, ending);
}

bool format_is_pickle_name(const char *path) {
  static const char *const endings[] = {".ckpt", ".pt", ".pth", ".bin", ".pkl", ".pickle"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (ends_with(path, endings[i]))
      return true;
  return false;
}

int format_refuse_pickle(const char *path, struct error *err) {
  return error_set(err, STATUS_MODEL,
                   "%s: is a PyTorch pickle, and such a file can run code when it is loaded: it is never opened; fetch "
                   "the same weights as .safetensors, or convert them where you trust the file",
                   path);
}

/* Returns true for a file of torch.save: a zip archive, or in old files a pickle of protocol 2 to 5. A safetensors
 * header of a certain length may begin with the same bytes, but is followed by JSON. */
static bool is_pickle(const unsigned char start[FORMAT_BYTES]) {
  bool zip = !memcmp(start, "PK\3\4", 4), pickle = start[0] == 0x80 && start[1] >= 2 && start[1] <= 5;
  return zip || (pickle && start[8] != '{');
}

/* File name endings of networks that were compiled, or are in the format of another program, with what to tell the
 * user. */
static const struct ending {
  const char *text, *is;
} endings[] = {
    {".onnx", "an ONNX network"},
    {".engine", "an engine of TensorRT, which runs on one kind of GPU"},
    {".plan", "an engine of TensorRT, which runs on one kind of GPU"},
    {".trt", "an engine of TensorRT, which runs on one kind of GPU"},
    {".tflite", "a network of TensorFlow Lite"},
    {".h5", "weights of Keras"},
    {".msgpack", "weights of Flax"},
    {".mlmodel", "a network of Core ML"},
};

static int refuse_ending(const char *path, struct error *err) {
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (ends_with(path, endings[i].text))
      return error_set(err, STATUS_MODEL,
                       "%s: is %s by its name, and no safetensors file: that is not supported; fetch the same "
                       "weights as .safetensors",
                       path, endings[i].is);
  return 0;
}

static const struct format {
  const char *start, *is;
} formats[] = {
    {"ftrt", "an engine of TensorRT, which runs on one kind of GPU; fetch the weights as .safetensors"},
    {"\x89HDF", "an HDF5 file; fetch the weights as .safetensors"},
    {"GGUF", "a GGUF file, whose quantised weights are not supported; fetch the weights as .safetensors"},
    {"version https://git-lfs", "a pointer of Git LFS in the place of the file; fetch the file itself (git lfs pull)"},
    {"<!DOCTYPE", "a web page in the place of the file; fetch it again from its download address"},
    {"<!doctype", "a web page in the place of the file; fetch it again from its download address"},
    {"<html", "a web page in the place of the file; fetch it again from its download address"},
};

int format_check(const struct weight_file *file, struct error *err) {
  unsigned char start[FORMAT_BYTES] = {0};
  size_t size = file->size < sizeof start ? file->size : sizeof start;
  if (weight_file_read(file, 0, start, size, err))
    return -1;
  if (is_pickle(start))
    return format_refuse_pickle(file->path, err);
  if (start[8] != '{' && refuse_ending(file->path, err))
    return -1;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (!strncmp((const char *)start, formats[i].start, strlen(formats[i].start)))
      return error_set(err, STATUS_MODEL, "%s: is %s", file->path, formats[i].is);
  return 0;
}
