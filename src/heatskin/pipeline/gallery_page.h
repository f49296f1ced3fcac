#pragma once

// The HTML of a gallery.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/pipeline/gallery.h"

namespace heatskin {

/// What the page shows of a product. Texts are plain.
struct GalleryCard {
  std::string name, error;
  std::string picture;       ///< an address: "data:image/webp;base64,..." or a relative one; empty: none
  std::string link, report;  ///< relative addresses; empty: none
  std::vector<GalleryFigure> figures;
};

/// A relative address of `to` as a link in a page at `page`, percent-encoded; empty if there is none.
std::string relativeLink(const std::filesystem::path& page, const std::filesystem::path& to);

std::string galleryHtml(std::string_view title, std::span<const GalleryCard> cards);

}  // namespace heatskin
