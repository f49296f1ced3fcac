#include "heatskin/viewing/server.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>

#include "heatskin/viewing/live_fit.h"

namespace heatskin {
namespace {

/// A thread waits for each client; two hundred at once are a test, not a household.
constexpr std::size_t kServerThreads = 256;

/// Seconds that a client may be silent while it asks or takes. Between requests it may be so for less.
constexpr time_t kClientSeconds = 10, kIdleSeconds = 2;

constexpr std::size_t kMostRequestBytes = 4096;
constexpr std::size_t kSentAtOnce = std::size_t{1} << 18;

/// 128 bits from the system's generator, as hexadecimal digits.
std::string unguessable() {
  std::random_device device;
  std::string out;
  for (int i = 0; i < 4; ++i)
    out += fmt::format("{:08x}", static_cast<std::uint32_t>(device()));
  return out;
}

/// Compares in a time that does not depend on where the texts differ.
bool sameText(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    apart |= static_cast<unsigned>(a[i] ^ b[i]);
  return apart == 0;
}

}  // namespace

struct ViewServer::Impl {
  httplib::Server server;
  std::thread thread;
  std::string token = unguessable();
  std::string page, address;
  std::vector<ServedFile> files;
  LiveFit* live = nullptr;
  std::uint16_t port = 0;

  bool ownHost(const httplib::Request& request) const {
    const std::string host = request.get_header_value("Host");
    return host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port);
  }

  /// What stands behind "/TOKEN/" in the path of a request that may be answered; null otherwise.
  const char* behindToken(const httplib::Request& request) const {
    const std::string& path = request.path;
    const std::size_t begin = token.size() + 2;
    if (!ownHost(request) || path.size() < begin || path[0] != '/' || path[begin - 1] != '/') return nullptr;
    if (!sameText(std::string_view(path).substr(1, token.size()), token)) return nullptr;
    return path.c_str() + begin;
  }

  void answerPage(httplib::Response& response) const {
    const std::string nonce = unguessable();
    // wasm: the decoder of EXT_meshopt_compression. blob: textures inside of files.
    response.set_header(
        "Content-Security-Policy",
        fmt::format("default-src 'none'; script-src 'nonce-{0}' 'wasm-unsafe-eval'; style-src 'nonce-{0}' "
                    "'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' data: blob:; "
                    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                    nonce));
    response.set_content(withNonce(page, nonce), "text/html; charset=utf-8");
  }

  static void addHeaders(httplib::Response& response) {
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
    response.set_header("Cross-Origin-Opener-Policy", "same-origin");
    response.set_header("Cache-Control", "no-store");
  }

  static void send(std::shared_ptr<const std::vector<std::uint8_t>> bytes, httplib::Response& response) {
    const std::size_t size = bytes->size();
    response.set_content_provider(
        size, "model/gltf-binary",
        [bytes = std::move(bytes)](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
          const std::size_t count = std::min(length, kSentAtOnce);
          return sink.write(reinterpret_cast<const char*>(bytes->data()) + offset, count);
        });
  }

  /// "live/..." of a fit; false: there is no such thing.
  bool answerLive(std::string_view rest, httplib::Response& response) const {
    constexpr std::string_view kFrames = "live/frames/", kGlb = ".glb";
    if (live == nullptr) return false;
    if (rest == "live/state") {
      response.set_content(live->state(), "application/json");
      return true;
    }
    if (!rest.starts_with(kFrames) || !rest.ends_with(kGlb)) return false;
    std::size_t number = 0;
    const char *from = rest.data() + kFrames.size(), *to = rest.data() + rest.size() - kGlb.size();
    const auto [end, problem] = std::from_chars(from, to, number);
    if (problem != std::errc() || end != to || from == to) return false;
    auto bytes = live->frame(number);
    if (bytes == nullptr) return false;
    send(std::move(bytes), response);
    return true;
  }

  /// Commands come from the page alone: another site does not know the token, and its Origin would say who it
  /// is.
  void obey(const httplib::Request& request, httplib::Response& response) const {
    addHeaders(response);
    constexpr std::string_view kLive = "live/";
    const char* rest = behindToken(request);
    const std::string origin = request.get_header_value("Origin");
    const bool own = origin.empty() || origin == "http://" + request.get_header_value("Host");
    const bool done = rest != nullptr && own && live != nullptr &&
                      std::string_view(rest).starts_with(kLive) &&
                      live->command(std::string_view(rest).substr(kLive.size()));
    response.status = done ? 204 : 404;
  }

  void answer(const httplib::Request& request, httplib::Response& response) const {
    addHeaders(response);
    const char* rest = behindToken(request);
    if (rest != nullptr && *rest == '\0') return answerPage(response);
    if (rest != nullptr && answerLive(rest, response)) return;
    const auto found = std::find_if(files.begin(), files.end(), [&](const ServedFile& file) {
      return rest != nullptr && file.address == rest;
    });
    if (found == files.end()) {
      response.status = 404;
      return;
    }
    const std::vector<std::uint8_t>& bytes = found->file->bytes;
    response.set_content_provider(bytes.size(), "model/gltf-binary",
                                  [&bytes](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                    const std::size_t count = std::min(length, kSentAtOnce);
                                    return sink.write(reinterpret_cast<const char*>(bytes.data()) + offset,
                                                      count);
                                  });
  }
};

ViewServer::ViewServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<ViewServer>> ViewServer::start(std::span<const ViewedFile> files,
                                                      const ViewServerOptions& options) {
  auto page = linkedPage(files, options.live != nullptr);
  if (!page) return page.error();
  auto impl = std::make_unique<Impl>();
  impl->page = std::move(*page);
  impl->files = servedFiles(files);
  impl->live = options.live;
  httplib::Server& server = impl->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kServerThreads); };
  server.set_read_timeout(kClientSeconds);
  server.set_write_timeout(kClientSeconds);
  server.set_keep_alive_timeout(kIdleSeconds);
  server.set_payload_max_length(kMostRequestBytes);
  // The library's own choice, SO_REUSEPORT, would let two servers share a port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  Impl* const raw = impl.get();
  server.Get(".*", [raw](const httplib::Request& request, httplib::Response& response) {
    raw->answer(request, response);
  });
  server.Post(".*", [raw](const httplib::Request& request, httplib::Response& response) {
    raw->obey(request, response);
  });
  constexpr const char* kLoopback = "127.0.0.1";
  const int port = options.port == 0                              ? server.bind_to_any_port(kLoopback)
                   : server.bind_to_port(kLoopback, options.port) ? options.port
                                                                  : -1;
  if (port <= 0) {
    return failure(options.port == 0 ? std::string("no port of this machine is free")
                                     : fmt::format("port {} is in use or not allowed", options.port));
  }
  impl->port = static_cast<std::uint16_t>(port);
  impl->address = fmt::format("http://{}:{}/{}/", kLoopback, port, impl->token);
  impl->thread = std::thread([raw] { raw->server.listen_after_bind(); });
  // Clients wait in the queue of the socket, which listens already; stop() has no effect before the loop
  // runs.
  while (!server.is_running())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return std::unique_ptr<ViewServer>(new ViewServer(std::move(impl)));
}

ViewServer::~ViewServer() {
  impl_->server.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

const std::string& ViewServer::address() const {
  return impl_->address;
}

std::uint16_t ViewServer::port() const {
  return impl_->port;
}

}  // namespace heatskin
