#pragma once

// An index of many products: one page with a picture and the figures of each, which sorts and searches by
// itself and opens from disk. Files that cannot be opened become a card with the reason.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

/// A number that the page can sort by.
struct GalleryFigure {
  std::string key;    ///< "surface_psnr": the same for all products
  std::string label;  ///< "surface PSNR"
  double value = 0;
  std::string text;  ///< "35.21 dB"
};

/// A product that is to be shown, and what the caller knows of it.
struct GalleryItem {
  std::filesystem::path product;
  std::string name;              ///< that people read; empty: the path relative to the page
  std::filesystem::path report;  ///< a page about it; empty: report.html in STEM_report, if that is there
  std::vector<GalleryFigure> figures;  ///< besides those of the product and of STEM.json beside it
  std::string error;                   ///< why there is no product to look at; empty: there is
};

struct GalleryOptions {
  std::string title;         ///< empty: the name of the page's folder
  int thumbnail_size = 288;  ///< side in pixels

  /// Up to so many pictures are part of the page; more lie beside it, in STEM_thumbnails.
  std::size_t most_embedded = 200;
  std::size_t most_bytes = std::size_t{1} << 30;  ///< larger files get a card and are not opened

  /// False: a file that has no kernels gets a card with that reason; true: it is left out and counted.
  bool skip_without_kernels = true;
  Progress* progress = nullptr;  ///< may be null; its cancelled() stops the work

  /// How files are written; writeFileAtomically() if empty.
  std::function<Result<void>(const std::filesystem::path&, std::span<const std::uint8_t>)> write;
};

struct GalleryOutcome {
  std::size_t products = 0;  ///< with a picture
  std::size_t broken = 0;    ///< with a reason instead
  std::size_t left_out = 0;  ///< without kernels
  std::size_t page_bytes = 0;
  std::vector<std::string> errors;  ///< "name: reason", in order
};

/// Adds the figures of `fit --json` and of batches that galleries show; `number` says what a key has, if
/// anything.
void addGalleryFigures(const std::function<std::optional<double>(std::string_view key)>& number,
                       std::vector<GalleryFigure>& figures);

/// The most files of a gallery.
inline constexpr std::size_t kMostGalleryItems = 100'000;

/// The .glb files of a folder and of the folders in it, in order of their names; hidden folders and links to
/// folders are left out. Fails if `folder` cannot be read or has more than kMostGalleryItems.
Result<std::vector<GalleryItem>> galleryItems(const std::filesystem::path& folder);

/// Where the i-th of `count` pictures is written for a page; empty: it is part of the page.
std::filesystem::path galleryThumbnail(const std::filesystem::path& page, std::size_t i, std::size_t count,
                                       const GalleryOptions& options);

/// Writes the page. One product is held in memory at a time, and of those before it the picture (unless it
/// lies beside the page) and the figures. Products never make it fail; files that cannot be written do.
Result<GalleryOutcome> writeGallery(std::span<const GalleryItem> items, const std::filesystem::path& page,
                                    const GalleryOptions& options = {});

}  // namespace heatskin
