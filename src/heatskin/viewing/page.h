#pragma once

// The viewer's page (viewer/, built by `make viewer` and embedded in the library) with the files it shows:
// for the server, as a folder of static files, or as one file that opens from disk.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

/// A file as the page gets it: a GLB.
struct ViewedBytes {
  std::string name;  ///< what people read
  std::vector<std::uint8_t> bytes;
};

/// A file to be looked at, and what it is compared with.
struct ViewedFile {
  ViewedBytes shown;
  std::unique_ptr<ViewedBytes> original;  ///< may be null
};

/// A GLB or glTF file, OBJ or PLY as the bytes of a GLB. A GLB stays as it is, except that Draco compression,
/// which the page does not decode, is undone.
Result<ViewedBytes> readForViewing(const std::filesystem::path& path);

/// The page as it was built; empty in a library that was built without it (error_code::kNoViewer in the
/// functions below).
std::string_view viewerPage();

/// The most that the files of a page that opens from disk may have together: browsers hold them twice, as
/// text and decoded.
inline constexpr std::size_t kMostSinglePageBytes = std::size_t{400} << 20;

/// A page that holds everything. Refused if the files are larger than kMostSinglePageBytes together.
Result<std::string> singlePage(std::span<const ViewedFile> files);

/// A page that fetches its files from addresses relative to its own, those of servedFiles(). `live`: it shows
/// a fit that goes on at "live/" (LiveFit).
Result<std::string> linkedPage(std::span<const ViewedFile> files, bool live = false);

/// One file of a folder or server: where the page looks for it.
struct ServedFile {
  std::string address;
  const ViewedBytes* file = nullptr;
};
std::vector<ServedFile> servedFiles(std::span<const ViewedFile> files);

/// The page for a response with that Content-Security-Policy nonce.
std::string withNonce(std::string_view page, std::string_view nonce);

}  // namespace heatskin
