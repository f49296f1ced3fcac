#include "heatskin/pipeline/gallery.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "heatskin/base/base64.h"
#include "heatskin/base/files.h"
#include "heatskin/base/plural.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/io/encode_webp.h"
#include "heatskin/io/image.h"
#include "heatskin/pipeline/gallery_page.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/render.h"

namespace heatskin {
namespace {

namespace fs = std::filesystem;

/// Pictures of a page are looked at in a few centimetres.
constexpr float kThumbnailQuality = 80;
constexpr std::size_t kMostJsonBytes = std::size_t{8} << 20;

std::string bytesText(std::size_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) * 1e-3);
  return fmt::format("{:.2f} MB", static_cast<double>(bytes) * 1e-6);
}

/// Figures that `fit --json` and `eval --json` share, from a file beside the product.
void addRecorded(const fs::path& product, std::vector<GalleryFigure>& figures) {
  const auto bytes = readFile(fs::path(product).replace_extension(".json"), kMostJsonBytes);
  if (!bytes) return;
  const auto json = nlohmann::json::parse(bytes->begin(), bytes->end(), nullptr, false);
  if (!json.is_object()) return;
  const auto number = [&](std::string_view key) -> std::optional<double> {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number()) return {};
    return found->get<double>();
  };
  addGalleryFigures(number, figures);
}

/// The page about a product that `fit --report STEM_report` wrote; empty if there is none.
fs::path reportBeside(const fs::path& product) {
  std::error_code ignored;
  fs::path folder = product;
  folder.replace_extension();
  folder += "_report";
  const fs::path report = folder / "report.html";
  return fs::is_regular_file(report, ignored) ? report : fs::path();
}

Result<std::vector<std::uint8_t>> thumbnailOf(const LoadedProduct& product, int size) {
  const Surface& surface = product.texture.surface();
  ShadedOptions options;
  options.supersampling = 2;
  options.sky_directions = 24;
  options.key_directions = 8;
  options.shadow_map_size = 192;
  options.transparent_background = true;
  const Picture picture =
      renderShaded(surface, defaultView(surface), size, size, textureColors(product.texture), options);
  return encodeWebp(toPng8WithMask(picture.image), picture.image.width, picture.image.height,
                    kThumbnailQuality);
}

struct Shown {
  std::vector<GalleryFigure> figures;
  std::vector<std::uint8_t> thumbnail;
};

Result<Shown> lookAt(const fs::path& file, const GalleryOptions& options) {
  std::error_code problem;
  const std::uintmax_t bytes = fs::file_size(file, problem);
  if (!problem && bytes > options.most_bytes)
    return inputError(fmt::format("the file is too large for a gallery: {}", bytesText(bytes)));
  const auto product = openProduct(file);
  if (!product) return product.error();
  const Product& p = product->product;
  Shown shown;
  const auto add = [&](const char* key, const char* label, double value, std::string text) {
    shown.figures.push_back({key, label, value, std::move(text)});
  };
  const auto count = [&](const char* key, const char* label, std::size_t number) {
    add(key, label, static_cast<double>(number), grouped(number));
  };
  count("kernels", "kernels", p.kernels.size());
  add("model_bytes", "kernels' bytes", static_cast<double>(p.model_bytes), bytesText(p.model_bytes));
  if (!problem) add("file_bytes", "file", static_cast<double>(bytes), bytesText(bytes));
  count("faces", "faces", p.surface->report().faces);
  if (p.info.steps > 0) count("steps", "steps", static_cast<std::size_t>(p.info.steps));
  auto thumbnail = thumbnailOf(*product, options.thumbnail_size);
  if (!thumbnail) return thumbnail.error();
  shown.thumbnail = std::move(*thumbnail);
  return shown;
}

/// The message without the path in front, which the card has as its name.
std::string reasonOf(const Error& error, const fs::path& file) {
  const std::string prefix = displayPath(file) + ": ";
  return error.message.starts_with(prefix) ? error.message.substr(prefix.size()) : error.message;
}

}  // namespace

void addGalleryFigures(const std::function<std::optional<double>(std::string_view)>& number,
                       std::vector<GalleryFigure>& figures) {
  struct Known {
    const char *key, *label, *format;
    double factor;
  };
  constexpr Known kKnown[] = {
      {"surface_psnr", "surface PSNR", "{:.2f} dB", 1}, {"view_psnr", "view PSNR", "{:.2f} dB", 1},
      {"view_ssim", "view SSIM", "{:.4f}", 1},          {"coverage_below_half", "uncovered", "{:.2f} %", 100},
      {"optimise_s", "optimisation", "{:.1f} s", 1},    {"run_cpu_s", "processor time", "{:.1f} s", 1}};
  for (const Known& known : kKnown) {
    const auto found = number(known.key);
    if (!found) continue;
    const double value = known.factor * *found;
    figures.push_back({known.key, known.label, value, fmt::format(fmt::runtime(known.format), value)});
  }
}

Result<std::vector<GalleryItem>> galleryItems(const fs::path& folder) {
  std::error_code problem;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, problem);
  if (problem) return inputError(fmt::format("{}: {}", displayPath(folder), problem.message()));
  std::vector<fs::path> found;
  for (const fs::recursive_directory_iterator end; at != end;) {
    const fs::path& path = at->path();
    std::error_code ignored;
    const std::string name = path.filename().string();
    if (name.starts_with(".") && at->is_directory(ignored)) at.disable_recursion_pending();
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (extension == ".glb" && !at->is_directory(ignored)) {
      if (found.size() == kMostGalleryItems) {
        return inputError(
            fmt::format("{}: holds more than {} GLB files", displayPath(folder), grouped(kMostGalleryItems)));
      }
      found.push_back(path);
    }
    at.increment(problem);
    if (problem) return inputError(fmt::format("{}: {}", displayPath(folder), problem.message()));
  }
  std::sort(found.begin(), found.end());
  std::vector<GalleryItem> items(found.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    items[i].product = std::move(found[i]);
  return items;
}

fs::path galleryThumbnail(const fs::path& page, std::size_t i, std::size_t count,
                          const GalleryOptions& options) {
  if (count <= options.most_embedded) return {};
  fs::path folder = page;
  folder.replace_extension();
  folder += "_thumbnails";
  return folder / fmt::format("{:06}.webp", i);
}

Result<GalleryOutcome> writeGallery(std::span<const GalleryItem> items, const fs::path& page,
                                    const GalleryOptions& options) {
  Progress& progress = options.progress != nullptr ? *options.progress : silentProgress();
  const auto write = [&](const fs::path& path, std::span<const std::uint8_t> bytes) {
    return options.write ? options.write(path, bytes) : writeFileAtomically(path, bytes);
  };
  if (const fs::path first = galleryThumbnail(page, 0, items.size(), options); !first.empty()) {
    std::error_code problem;
    fs::create_directories(first.parent_path(), problem);
    if (problem) return failure(fmt::format("{}: {}", displayPath(first.parent_path()), problem.message()));
  }
  GalleryOutcome outcome;
  std::vector<GalleryCard> cards;
  progress.begin("looking at products", items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const GalleryItem& item = items[i];
    if (progress.cancelled()) return failure("cancelled", error_code::kCancelled);
    GalleryCard card;
    std::error_code ignored;
    const fs::path folder = fs::absolute(page, ignored).lexically_normal().parent_path();
    card.name =
        !item.name.empty()
            ? item.name
            : displayPath(fs::absolute(item.product, ignored).lexically_normal().lexically_relative(folder));
    if (!item.error.empty()) {
      card.error = item.error;
    } else {
      auto shown = lookAt(item.product, options);
      if (!shown && shown.error().code == error_code::kNoKernels && options.skip_without_kernels) {
        ++outcome.left_out;
        progress.update(i + 1, card.name);
        continue;
      }
      card.link = relativeLink(page, item.product);
      if (!shown) {
        card.error = reasonOf(shown.error(), item.product);
      } else {
        card.figures = std::move(shown->figures);
        if (const fs::path file = galleryThumbnail(page, i, items.size(), options); file.empty()) {
          card.picture = "data:image/webp;base64," + base64(shown->thumbnail);
        } else {
          if (auto saved = write(file, shown->thumbnail); !saved) return saved.error();
          card.picture = relativeLink(page, file);
        }
      }
      addRecorded(item.product, card.figures);
    }
    for (const GalleryFigure& figure : item.figures) {
      // What the caller knows stands for what a file said.
      std::erase_if(card.figures, [&](const GalleryFigure& other) { return other.key == figure.key; });
      card.figures.push_back(figure);
    }
    card.report = relativeLink(page, !item.report.empty() ? item.report : reportBeside(item.product));
    if (card.error.empty()) {
      ++outcome.products;
    } else {
      ++outcome.broken;
      outcome.errors.push_back(card.name + ": " + card.error);
    }
    cards.push_back(std::move(card));
    progress.update(i + 1, cards.back().name);
  }
  progress.end();
  std::error_code ignored;
  std::string title = options.title;
  if (title.empty())
    title = displayPath(fs::absolute(page, ignored).lexically_normal().parent_path().filename());
  const std::string html = galleryHtml(title.empty() ? "Gallery" : title, cards);
  outcome.page_bytes = html.size();
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(html.data()), html.size());
  if (auto saved = write(page, bytes); !saved) return saved.error();
  return outcome;
}

}  // namespace heatskin
