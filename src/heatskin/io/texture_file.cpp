#include "heatskin/io/texture_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "heatskin/base/files.h"
#include "heatskin/io/image.h"
#include "heatskin/io/image_codecs.h"
#include "heatskin/io/reference.h"

namespace heatskin {
namespace {

/// Compressed images beyond this are not textures.
constexpr std::size_t kMaxImageFileBytes = std::size_t{512} << 20;

/// Unusable textures that are named one by one.
constexpr std::size_t kMaxListed = 20;

}  // namespace

std::string portableFileName(std::string_view name, bool* changed) {
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
  std::string portable(name);
  std::replace(portable.begin(), portable.end(), '\\', '/');
  if (changed != nullptr) *changed = portable != name;
  return portable;
}

Result<int> TextureFiles::use(std::string_view name, Wrap wrap) {
  if (!options_.load_images) return -1;
  bool backslashes = false;
  const std::string portable = portableFileName(name, &backslashes);
  auto known = images_.find(portable);
  if (known == images_.end()) {
    if (backslashes) {
      asset_.notices.push_back({"backslash_path", "texture " + quoteForMessage(name) +
                                                      " is written with backslashes, read as '/'"});
    }
    const Result<int> image = loadImage(portable);
    if (!image) return image.error();
    known = images_.emplace(portable, *image).first;
  }
  if (known->second < 0) return -1;
  const auto [entry, added] =
      textures_.try_emplace({known->second, wrap}, static_cast<int>(asset_.textures.size()));
  if (added) asset_.textures.push_back({known->second, wrap, wrap});
  return entry->second;
}

int TextureFiles::combine(int green, int blue) {
  if (green < 0 && blue < 0) return -1;
  const auto [entry, added] = combined_.try_emplace({green, blue}, -1);
  if (!added) return entry->second;
  const auto imageOf = [&](int texture) {
    return texture < 0 ? nullptr
                       : asset_
                             .images[static_cast<std::size_t>(
                                 asset_.textures[static_cast<std::size_t>(texture)].image)]
                             .get();
  };
  const Image *g = imageOf(green), *b = imageOf(blue);
  const Image& larger = b == nullptr || (g != nullptr && g->rgba.size() >= b->rgba.size()) ? *g : *b;
  Image image;
  image.name = larger.name;
  image.format = "png";
  image.stored_channels = 3;
  image.width = larger.width;
  image.height = larger.height;
  image.rgba.assign(larger.rgba.size(), 255);
  // The nearest texel: both pictures usually have the same size.
  const auto copy = [&](const Image* from, std::size_t component) {
    for (int y = 0; y < image.height && from != nullptr; ++y) {
      for (int x = 0; x < image.width; ++x) {
        const auto at = [](int i, int size, int other) {
          return static_cast<int>(std::int64_t{i} * other / size);
        };
        const std::uint8_t* texel =
            from->texel(at(x, image.width, from->width), at(y, image.height, from->height));
        image.rgba[4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                        static_cast<std::size_t>(x)) +
                   component] = texel[component];
      }
    }
  };
  copy(g, 1);
  copy(b, 2);
  Texture texture = asset_.textures[static_cast<std::size_t>(green >= 0 ? green : blue)];
  texture.image = static_cast<int>(asset_.images.size());
  asset_.images.push_back(std::make_shared<const Image>(std::move(image)));
  asset_.textures.push_back(texture);
  entry->second = static_cast<int>(asset_.textures.size()) - 1;
  return entry->second;
}

Result<int> TextureFiles::loadImage(const std::string& name) {
  const auto warn = [&](const char* code, const std::string& message) {
    if (++unusable_ <= kMaxListed) {
      asset_.notices.push_back({code, "texture " + message + ": loaded without it"});
    } else if (unusable_ == kMaxListed + 1) {
      asset_.notices.push_back(
          {"more_textures", "further textures cannot be used either: loaded without them"});
    }
    return -1;
  };
  const std::filesystem::path folder = asset_.path.parent_path();
  std::string trouble;
  std::filesystem::path file;
  if (Result<std::filesystem::path> resolved = resolveReference(folder, name); resolved) {
    file = std::move(*resolved);
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) trouble = quoteForMessage(name) + ": no such file";
  } else {
    trouble = resolved.error().message;
  }
  if (!trouble.empty()) {
    // Absolute paths of the machine the file was made on are common, and the image often lies beside the
    // asset.
    const std::string base = name.substr(name.find_last_of('/') + 1);
    std::error_code ignored;
    Result<std::filesystem::path> beside = resolveReference(folder, base);
    if (base.empty() || base == name || !beside || !std::filesystem::is_regular_file(*beside, ignored)) {
      return warn("missing_texture", trouble);
    }
    asset_.notices.push_back({"texture_elsewhere", "texture " + trouble + "; used " + quoteForMessage(base) +
                                                       " beside the asset"});
    file = std::move(*beside);
  }

  if (options_.references != nullptr) options_.references->push_back(file);
  Result<std::vector<std::uint8_t>> bytes = readFile(file, kMaxImageFileBytes);
  if (!bytes) return warn("unreadable_texture", bytes.error().message);
  if (!bytes->empty() && !codecs::isPng(*bytes) && !codecs::isJpeg(*bytes) && !codecs::isWebp(*bytes)) {
    return warn("unsupported_texture", quoteForMessage(name) + " is not a PNG, JPEG or WebP image");
  }
  Result<Image> image = decodeImage(*bytes, repairUtf8(name), options_.max_image_pixels);
  if (!image) {
    return image.error().prefixed(displayPath(asset_.path) + ": texture ");
  }
  total_pixels_ += static_cast<std::size_t>(image->width) * static_cast<std::size_t>(image->height);
  if (total_pixels_ > options_.max_total_pixels) {
    return inputError(displayPath(asset_.path) + ": the textures have more than " +
                      std::to_string(options_.max_total_pixels) + " pixels together; reduce their size");
  }
  asset_.images.push_back(std::make_shared<const Image>(std::move(*image)));
  return static_cast<int>(asset_.images.size()) - 1;
}

}  // namespace heatskin
