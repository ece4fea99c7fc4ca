"""A hub and the host that it sends large files' readers to, for test_fetch.c: hub_server.py GOLDENS, in a folder that
what it heard (heard.txt) and where it listens (ports.txt) is written to, and where files tell it to go on. How a
repository misbehaves is in its name."""
import hashlib
import http.server
import json
import os
import ssl
import sys
import threading
import time

GOLDENS = sys.argv[1]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER_COMMIT = "fedcba9876543210fedcba9876543210fedcba98"
LARGE = bytes(i * 7919 >> 3 & 255 for i in range(600000))
lock = threading.Lock()


def read_folder(name, left_out=()):
    files = {}
    for folder, _, names in os.walk(os.path.join(GOLDENS, name)):
        for file in names:
            path = os.path.relpath(os.path.join(folder, file), os.path.join(GOLDENS, name))
            if not path.startswith(("golden.", "original.")) and path not in left_out:
                files[path] = open(os.path.join(folder, file), "rb").read()
    return files


def pipeline():
    files = read_folder("merged")
    weights = files["unet/diffusion_pytorch_model.safetensors"]
    files["unet/diffusion_pytorch_model.fp16.safetensors"] = weights
    files["unet/diffusion_pytorch_model.bin"] = b"a pickle"
    files["unet/diffusion_pytorch_model.fp16.bin"] = b"a pickle"
    files["merged.safetensors"] = LARGE
    files["tokenizer/added_tokens.json"] = b"{}"
    files["safety_checker/model.safetensors"] = LARGE
    files["README.md"] = b"# about it"
    files[".gitattributes"] = b"*.safetensors filter=lfs"
    return files


def one(name="model.safetensors", data=LARGE):
    return {name: data}


def moved():
    return one(data=LARGE[::-1] if os.path.exists("moved") else LARGE)


REPOSITORIES = {
    "pipeline": pipeline, "private": pipeline, "renamed": None, "moved": moved,
    "vae": lambda: {"config.json": b"{}", "diffusion_pytorch_model.safetensors": LARGE, "taesd_decoder.safetensors": LARGE,
                    "taesd_decoder.pth": b"a pickle"},
    "depth": lambda: read_folder("depth") | {"pytorch_model.bin": b"a pickle", "README.md": b"# about it"},
    "lora": lambda: {"pytorch_lora_weights.safetensors": LARGE, "README.md": b"a", "image one.png": b"b"},
    "several": lambda: {"one step.safetensors": LARGE, "deep/two.safetensors": LARGE, "two.ckpt": b"a pickle"},
    "pickles": lambda: {"model_index.json": b"{}", "unet/config.json": b"{}", "unet/diffusion_pytorch_model.bin": LARGE},
    "flux": lambda: {"model_index.json": b"{}", "transformer/diffusion_pytorch_model.safetensors": LARGE},
    "shards": lambda: {"model_index.json": b"{}", "unet/config.json": b"{}",
                       "unet/diffusion_pytorch_model.safetensors.index.json": b"{}",
                       "unet/diffusion_pytorch_model-00001-of-00002.safetensors": LARGE,
                       "unet/diffusion_pytorch_model-00002-of-00002.safetensors": LARGE,
                       "text_encoder/config.json": b"{}",
                       "text_encoder/model.safetensors.index.fp16.json": b"{}",
                       "text_encoder/model.fp16-00001-of-00001.safetensors": LARGE,
                       "text_encoder/model.safetensors": LARGE, "text_encoder/model.onnx": LARGE},
    "empty": lambda: {"model_index.json": b"", "unet/config.json": b"", "unet/diffusion_pytorch_model.safetensors": b""},
}


def content(repository):
    make = REPOSITORIES.get(repository, one)
    return make() if make else None


def listing(repository):
    siblings = []
    for path, data in content(repository).items():
        large = path.endswith((".safetensors", ".bin", ".pth", ".ckpt", ".onnx"))
        entry = {"rfilename": path, "size": len(data)}
        entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        if large:
            entry["lfs"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "pointerSize": 130}
        siblings.append(entry)
    if repository == "hostile":
        good = siblings[0]
        siblings += [dict(good, rfilename=name) for name in (
            "../x.safetensors", "/tmp/x.safetensors", "a\\..\\x.safetensors", "a/../../x.safetensors", "a//x.safetensors",
            "./x.safetensors", ".hidden.safetensors", "x\x1b[2J.safetensors", "x\n.safetensors", "n" * 4096 + ".safetensors",
            "d/" * 1000 + "x.safetensors", "c:x.safetensors", "", "..", "a/..", ".git/config", "n" * 250 + ".safetensors")]
        siblings += [7, None, {}, {"rfilename": 3}, []]
    if repository == "twice":
        siblings *= 2
    if repository.startswith("size-"):
        siblings[0]["lfs"]["size"] = {"huge": 9007199254740000, "beyond": 1e300, "negative": -5, "word": "big"}[repository[5:]]
    if repository == "unchecked":
        siblings[0]["lfs"]["sha256"] = "../../../../etc/passwd"
    commit = OTHER_COMMIT if repository == "moved" and os.path.exists("moved") else COMMIT
    return {"id": "acme/" + repository, "sha": commit, "siblings": siblings}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def hear(self):
        with lock, open("heard.txt", "a") as out:
            print(self.server.name, self.path, "token=" + self.headers.get("Authorization", "none"),
                  "range=" + self.headers.get("Range", "none"), file=out)

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def cut(self):
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(2)

    def do_GET(self):
        self.hear()
        try:
            self.server.handle_get(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


def api(h, repository, revision):
    if repository == "missing" or (repository == "private" and h.headers.get("Authorization") != "Bearer hf_good"):
        return h.answer(401 if repository == "private" else 404, b"{}", X_Error_Code="RepoNotFound")
    if repository == "token" and h.headers.get("Authorization"):
        return h.answer(401, b"{}")
    if revision not in ("main", "refs%2Fpr%2F1"):
        return h.answer(404, b"{}", X_Error_Code="RevisionNotFound")
    if repository == "busy":
        return h.answer(429)
    if repository == "broken":
        return h.answer(500)
    if repository == "renamed":
        return h.answer(307, Location="/api/models/acme/pipeline/revision/main?blobs=true")
    if repository == "endless":
        h.send_response(200)
        h.end_headers()
        while True:
            h.wfile.write(b" " * 65536)
    texts = {"no-json": b"<html>", "no-list": b"{}", "no-bytes": b"", "deep": b"[" * 200000,
             "half": json.dumps(listing("lora")).encode()[:-40],
             "list": b'{"sha": "main", "siblings": []}', "strings": b'{"sha": "' + b"a" * 40 + b'", "siblings": "x"}'}
    return h.answer(200, texts.get(repository) or (b"" if repository == "no-bytes" else json.dumps(listing(repository)).encode()))


def hub_get(h):
    parts = h.path.split("/")
    if h.path.startswith("/api/models/acme/"):
        return api(h, parts[4], parts[6].split("?")[0])
    repository, commit, path = parts[2], parts[4], "/".join(parts[5:]).replace("%20", " ")
    if repository == "renamed":
        return h.answer(307, Location=h.path.replace("renamed", "pipeline"))
    if repository.startswith("gated"):
        return h.answer(403 if repository == "gated-403" else 401, b"", X_Error_Code="GatedRepo")
    if repository == "gone":
        return h.answer(404, b"", X_Error_Code="EntryNotFound")
    if repository == "circle":
        return h.answer(302, Location=h.path + "x")
    if repository in ("file", "ftp", "nowhere"):
        return h.answer(302, Location={"file": "file:///etc/passwd", "ftp": "ftp://127.0.0.1/x", "nowhere": ""}[repository])
    data = content(repository)[path]
    if not path.endswith(".safetensors"):
        return h.answer(200, data, ETag='"%s"' % hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest())
    etag = "0" * 64 if repository == "changed" else hashlib.sha256(data).hexdigest()
    store = "http://127.0.0.1:%d" % PORTS["store"]
    if h.server.name == "tls" and repository != "downgrade":
        store = "https://localhost:%d" % PORTS["tls"]
    h.answer(302, b"to the store", X_Linked_ETag='"%s"' % etag, X_Linked_Size=str(len(data)), X_Repo_Commit=commit,
             Location="%s/acme/%s/%s?signed" % (store, repository, "/".join(parts[5:])))


def store_get(h):
    repository, path = h.path.split("/")[2], "/".join(h.path.split("?")[0].split("/")[3:]).replace("%20", " ")
    data, first = content(repository)[path], 0
    total = len(data)
    asked = h.headers.get("Range", "")
    if repository == "damaged" or (repository == "damaged-once" and not asked and not os.path.exists("once")):
        open("once", "w").close()
        data = b"?" + data[1:]
    if repository == "longer":
        data += b"more"
    if repository == "shorter":
        data = data[:-4]
    if asked.startswith("bytes=") and repository != "no-range":
        first = int(asked[6:].rstrip("-"))
    if repository == "other-range" and first:
        first += 1
    h.send_response(206 if first else 200)
    if first and repository != "unsaid-range":
        h.send_header("Content-Range", "bytes %d-%d/%d" % (first, len(data) - 1, total))
    if repository == "unsaid-length":
        h.send_header("Connection", "close")
        h.close_connection = True
        data += b"more"
    else:
        h.send_header("Content-Length", str(len(data) - first))
    h.end_headers()
    end = len(data)
    if repository in ("cut", "other-range", "unsaid-range") or (repository == "no-range" and not asked):
        end = min(end, first + 250000)
    if repository == "stuck" and not os.path.exists("go"):
        end = min(end, 250000)
    if repository == "slow":
        h.wfile.write(data[first:250000])
        h.wfile.flush()
        open("slow.there", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.02)
        first = max(first, 250000)
    h.wfile.write(data[first:end])
    if end < len(data):
        h.cut()


def tls_get(h):
    return store_get(h) if h.path.endswith("?signed") else hub_get(h)


PORTS = {}
for name, handle in {"store": store_get, "hub": hub_get, "tls": tls_get}.items():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients that leave are what is tested
    server.name, server.handle_get = name, handle
    PORTS[name] = server.server_address[1]
    if name == "tls" and os.path.exists("cert.pem"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("cert.pem", "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
with open("ports.tmp", "w") as ports:
    print(PORTS["hub"], PORTS["tls"], file=ports)
os.rename("ports.tmp", "ports.txt")
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.2)
