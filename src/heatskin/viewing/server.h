#pragma once

// A web server for the viewer: loopback alone, and only the files it was given.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "heatskin/base/result.h"
#include "heatskin/viewing/page.h"

namespace heatskin {

class LiveFit;

struct ViewServerOptions {
  std::uint16_t port = 0;  ///< 0: one that is free

  /// A fit that the page shows and steers: "live/state", "live/frames/N.glb" and commands by POST. May be
  /// null; otherwise it must outlive the server.
  LiveFit* live = nullptr;
};

/// Serves from start() until it is destroyed, on threads of its own. Addresses begin with a token that cannot
/// be guessed; everything else, and requests whose Host header is not this server (a page of another site
/// that had its name point here), gets 404. Clients that are slow to ask or to take their answer are cut off.
class ViewServer {
 public:
  /// `files` must outlive the server.
  static Result<std::unique_ptr<ViewServer>> start(std::span<const ViewedFile> files,
                                                   const ViewServerOptions& options = {});
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  /// "http://127.0.0.1:PORT/TOKEN/".
  const std::string& address() const;
  std::uint16_t port() const;

 private:
  struct Impl;
  explicit ViewServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heatskin
