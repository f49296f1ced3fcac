#include "heatskin/io/gltf_document.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_json.h"
#include "heatskin/io/image.h"
#include "heatskin/io/reference.h"

namespace heatskin {
namespace {

/// Extensions whose references to textures, images and buffer views are found by forEachReference().
constexpr std::array kKnown = {
    "EXT_lights_image_based",
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_texture_avif",
    "EXT_texture_webp",
    "HSK_kernel_texture",
    "KHR_animation_pointer",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_mesh_quantization",
    "KHR_node_visibility",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "KHR_xmp_json_ld",
    "MSFT_lod",
    "MSFT_texture_dds",
};

/// A PNG of one white pixel, in place of an image that has to keep its number.
const std::vector<std::uint8_t>& whitePixel() {
  static const std::vector<std::uint8_t> kPng = [] {
    constexpr std::array<std::uint8_t, 3> kWhite = {255, 255, 255};
    auto png = encodePng(kWhite, 1, 1, 3);
    return png ? std::move(*png) : std::vector<std::uint8_t>(1);
  }();
  return kPng;
}

bool endsWithTexture(std::string_view key) {
  return key.ends_with("Texture") || key.ends_with("texture");
}

/// A member that is an unsigned number, or null.
GltfJson* indexIn(GltfJson& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? &*found : nullptr;
}

std::size_t sizeIn(const GltfJson& object, const char* key, std::size_t fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::size_t>() : fallback;
}

/// Every value below `value`, with the key it has; what is in extras is anybody's.
void walk(GltfJson& value, const std::function<void(const std::string& key, GltfJson&)>& visit) {
  if (value.is_object()) {
    for (auto item = value.begin(); item != value.end(); ++item) {
      if (item.key() == "extras") continue;
      visit(item.key(), item.value());
      walk(item.value(), visit);
    }
  } else if (value.is_array()) {
    for (GltfJson& item : value)
      walk(item, visit);
  }
}

std::set<std::size_t> without(const std::set<std::size_t>& a, const std::set<std::size_t>& b) {
  std::set<std::size_t> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

const char* listOf(int kind) {
  static constexpr std::array<const char*, 4> kLists = {"textures", "images", "samplers", "bufferViews"};
  return kLists[static_cast<std::size_t>(kind)];
}

/// The type of an image by its first bytes; empty if it is none of glTF's.
std::string mimeTypeOf(std::span<const std::uint8_t> bytes) {
  const auto begins = [&](std::string_view text, std::size_t at = 0) {
    return bytes.size() >= at + text.size() &&
           std::equal(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      [](char c, std::uint8_t b) { return static_cast<std::uint8_t>(c) == b; });
  };
  if (begins("\x89PNG")) return "image/png";
  if (begins("\xFF\xD8\xFF")) return "image/jpeg";
  if (begins("RIFF") && begins("WEBP", 8)) return "image/webp";
  if (begins("\xABKTX 20\xBB")) return "image/ktx2";
  return {};
}

}  // namespace

GltfJson* memberOf(GltfJson& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

Result<GltfDocument> GltfDocument::open(std::span<const std::uint8_t> bytes,
                                        const std::filesystem::path& path) {
  gltf::Container container;
  if (gltf::hasGlbMagic(bytes)) {
    const auto split = gltf::splitGlb(bytes);
    if (!split) return split.error();
    container = *split;
  } else {
    container.json = bytes;
  }
  // The reader's limits hold; its tree has no order.
  if (const auto checked = gltf::parseJson(container.json); !checked) return checked.error();
  std::string_view text(reinterpret_cast<const char*>(container.json.data()), container.json.size());
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_suffix(text.size() - (text.find_last_not_of('\0') + 1));
  GltfDocument document;
  document.root_ = GltfJson::parse(repairUtf8(text), nullptr, false);
  if (!document.root_.is_object()) return inputError("the JSON is not an object");
  document.folder_ = path.parent_path();
  document.loadBuffers(container.bin.value_or(std::span<const std::uint8_t>()), document.folder_);
  document.noteUsed();
  return document;
}

void GltfDocument::noteUsed() {
  textures_ = used(Kind::kTexture);
  images_ = used(Kind::kImage);
  samplers_ = used(Kind::kSampler);
  views_ = used(Kind::kBufferView);
  extensions_ = extensionsThere();
}

const GltfJson& GltfDocument::list(std::string_view name) const {
  static const GltfJson kEmpty = GltfJson::array();
  const auto found = root_.find(std::string(name));
  return found != root_.end() && found->is_array() ? *found : kEmpty;
}

std::size_t GltfDocument::append(std::string_view name, GltfJson element) {
  GltfJson& array = root_[std::string(name)];
  if (!array.is_array()) array = GltfJson::array();
  array.push_back(std::move(element));
  return array.size() - 1;
}

std::size_t GltfDocument::addBufferView(std::span<const std::uint8_t> bytes, GlbBuilder::Target target) {
  const std::size_t buffer = list("buffers").size();
  if (buffers_.size() == buffer) buffers_.push_back({{}, true});
  std::vector<std::uint8_t>& all = buffers_.back().bytes;
  all.resize((all.size() + 3) / 4 * 4);
  GltfJson view;
  view["buffer"] = buffer;
  view["byteOffset"] = all.size();
  view["byteLength"] = bytes.size();
  if (target != GlbBuilder::Target::kUnspecified) view["target"] = static_cast<int>(target);
  all.insert(all.end(), bytes.begin(), bytes.end());
  return append("bufferViews", std::move(view));
}

void GltfDocument::useExtension(std::string_view name) {
  GltfJson& names = root_["extensionsUsed"];
  if (!names.is_array()) names = GltfJson::array();
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void GltfDocument::loadBuffers(std::span<const std::uint8_t> bin, const std::filesystem::path& folder) {
  const GltfJson& buffers = list("buffers");
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    Bytes& out = buffers_.emplace_back();
    const std::size_t length = sizeIn(buffers[b], "byteLength", 0);
    const auto uri = buffers[b].find("uri");
    if (uri == buffers[b].end()) {
      if (b == 0 && bin.size() >= length) {
        out.bytes.assign(bin.begin(), bin.begin() + static_cast<std::ptrdiff_t>(length));
        out.loaded = true;
      }
      continue;
    }
    if (!uri->is_string()) continue;
    const auto& text = uri->get_ref<const std::string&>();
    Result<std::vector<std::uint8_t>> bytes = inputError("");
    if (isDataUri(text)) {
      bytes = decodeDataUri(text);
    } else if (const auto name = percentDecode(text)) {
      bytes = readReference(folder, *name);
    }
    if (!bytes || bytes->size() < length) continue;
    out.bytes = std::move(*bytes);
    out.bytes.resize(length);
    out.loaded = true;
  }
}

void GltfDocument::forEachReference(Kind kind, const Visit& visit) {
  const auto visitMember = [&](GltfJson& object, const char* key) {
    if (GltfJson* index = indexIn(object, key)) visit(*index);
  };
  switch (kind) {
    case Kind::kTexture:
      walk(root_, [&](const std::string& key, GltfJson& value) {
        if (endsWithTexture(key)) visitMember(value, "index");
      });
      break;
    case Kind::kImage:
      if (GltfJson* textures = memberOf(root_, "textures"); textures != nullptr && textures->is_array()) {
        for (GltfJson& texture : *textures) {
          visitMember(texture, "source");
          GltfJson* extensions = memberOf(texture, "extensions");
          if (extensions == nullptr || !extensions->is_object()) continue;
          for (GltfJson& extension : *extensions)
            visitMember(extension, "source");
        }
      }
      walk(root_, [&](const std::string& key, GltfJson& value) {
        if (key != "specularImages" || !value.is_array()) return;
        for (GltfJson& level : value) {
          if (!level.is_array()) continue;
          for (GltfJson& index : level) {
            if (index.is_number_unsigned()) visit(index);
          }
        }
      });
      break;
    case Kind::kSampler:
      if (GltfJson* textures = memberOf(root_, "textures"); textures != nullptr && textures->is_array()) {
        for (GltfJson& texture : *textures)
          visitMember(texture, "sampler");
      }
      break;
    case Kind::kBufferView:
      walk(root_, [&](const std::string& key, GltfJson& value) {
        if (key == "bufferView" && value.is_number_unsigned()) visit(value);
      });
      break;
  }
}

std::set<std::size_t> GltfDocument::used(Kind kind) {
  std::set<std::size_t> numbers;
  forEachReference(kind, [&](GltfJson& index) { numbers.insert(index.get<std::size_t>()); });
  return numbers;
}

std::set<std::string> GltfDocument::extensionsThere() const {
  std::set<std::string> names;
  // Visiting changes nothing here.
  walk(const_cast<GltfJson&>(root_), [&](const std::string& key, GltfJson& value) {
    if (key != "extensions" || !value.is_object()) return;
    for (const auto& item : value.items())
      names.insert(item.key());
  });
  return names;
}

bool GltfDocument::knowsAllExtensions() const {
  const GltfJson& names = list("extensionsUsed");
  const auto known = [](const GltfJson& name) {
    return name.is_string() &&
           std::find(kKnown.begin(), kKnown.end(), name.get_ref<const std::string&>()) != kKnown.end();
  };
  const std::set<std::string> there = extensionsThere();
  return std::all_of(names.begin(), names.end(), known) &&
         std::all_of(there.begin(), there.end(), [](const std::string& name) {
           return std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
         });
}

void GltfDocument::remove(Kind kind, const std::set<std::size_t>& numbers) {
  GltfJson* array = memberOf(root_, listOf(static_cast<int>(kind)));
  if (numbers.empty() || array == nullptr || !array->is_array()) return;
  std::vector<std::size_t> new_number(array->size());
  GltfJson rest = GltfJson::array();
  for (std::size_t i = 0; i < array->size(); ++i) {
    new_number[i] = rest.size();
    if (!numbers.contains(i)) rest.push_back(std::move((*array)[i]));
  }
  *array = std::move(rest);
  forEachReference(kind, [&](GltfJson& index) {
    const auto old = index.get<std::size_t>();
    if (old < new_number.size()) index = new_number[old];
  });
  // glTF has no empty lists.
  if (array->empty()) root_.erase(listOf(static_cast<int>(kind)));
}

void GltfDocument::empty(Kind kind, const std::set<std::size_t>& numbers) {
  GltfJson* array = memberOf(root_, listOf(static_cast<int>(kind)));
  if (numbers.empty() || array == nullptr || !array->is_array()) return;
  for (const std::size_t i : numbers) {
    if (i >= array->size() || !(*array)[i].is_object()) continue;
    if (kind == Kind::kImage) {
      GltfJson& image = (*array)[i];
      image.erase("uri");
      image["bufferView"] = addBufferView(whitePixel());
      image["mimeType"] = "image/png";
      array = memberOf(root_, listOf(static_cast<int>(kind)));
    } else if (kind == Kind::kBufferView) {
      // A view cannot be without bytes.
      const std::size_t stand_in = addBufferView(whitePixel());
      array = memberOf(root_, listOf(static_cast<int>(kind)));
      (*array)[i] = (*array)[stand_in];
      array->erase(stand_in);
    }
  }
}

void GltfDocument::dropUnused() {
  const bool may_renumber = knowsAllExtensions();
  const auto drop = [&](Kind kind, const std::set<std::size_t>& before) {
    const std::set<std::size_t> numbers = without(before, used(kind));
    may_renumber ? remove(kind, numbers) : empty(kind, numbers);
    return numbers;
  };
  if (may_renumber) {
    drop(Kind::kTexture, textures_);
    drop(Kind::kSampler, samplers_);
    drop(Kind::kImage, images_);
  } else {
    // Textures stay where they are; the images of those that nobody uses lose their bytes.
    const std::set<std::size_t> unused = without(textures_, used(Kind::kTexture));
    std::set<std::size_t> images, still;
    const GltfJson& textures = list("textures");
    for (std::size_t t = 0; t < textures.size(); ++t) {
      if (!textures[t].is_object()) continue;
      auto& into = unused.contains(t) ? images : still;
      const std::size_t images_there = list("images").size();
      const std::size_t source = sizeIn(textures[t], "source", images_there);
      if (source < images_there) into.insert(source);
    }
    empty(Kind::kImage, without(images, still));
  }
  drop(Kind::kBufferView, views_);

  const std::set<std::string> there = extensionsThere();
  for (const char* key : {"extensionsUsed", "extensionsRequired"}) {
    GltfJson* names = memberOf(root_, key);
    if (names == nullptr || !names->is_array()) continue;
    GltfJson rest = GltfJson::array();
    for (const GltfJson& name : *names) {
      const bool gone = name.is_string() && extensions_.contains(name.get<std::string>()) &&
                        !there.contains(name.get<std::string>());
      if (!gone) rest.push_back(name);
    }
    *names = std::move(rest);
    if (names->empty()) root_.erase(key);
  }
  noteUsed();
}

namespace {

/// The bytes of an image's file or data URI; nothing if they cannot be had or are no image.
std::optional<std::vector<std::uint8_t>> imageBytes(const std::string& uri,
                                                    const std::filesystem::path& folder) {
  Result<std::vector<std::uint8_t>> bytes = inputError("");
  if (isDataUri(uri)) {
    bytes = decodeDataUri(uri);
  } else if (const auto name = percentDecode(uri)) {
    bytes = readReference(folder, *name);
  }
  if (!bytes || bytes->empty() || mimeTypeOf(*bytes).empty()) return std::nullopt;
  return std::move(*bytes);
}

}  // namespace

std::vector<std::string> GltfDocument::missingImages() const {
  std::vector<std::string> names;
  for (const GltfJson& image : list("images")) {
    const auto uri = image.is_object() ? image.find("uri") : image.end();
    if (!image.is_object() || uri == image.end() || !uri->is_string()) continue;
    const auto& text = uri->get_ref<const std::string&>();
    if (!imageBytes(text, folder_)) names.push_back(isDataUri(text) ? "a data URI" : text);
  }
  return names;
}

void GltfDocument::embedImages() {
  for (std::size_t i = 0; i < list("images").size(); ++i) {
    GltfJson& image = root_["images"][i];
    const GltfJson* uri = memberOf(image, "uri");
    if (uri == nullptr || !uri->is_string()) continue;
    const std::string text = uri->get<std::string>();
    const auto bytes = imageBytes(text, folder_);
    if (!bytes) continue;
    const std::string type = mimeTypeOf(*bytes);
    const std::size_t view = addBufferView(*bytes);
    GltfJson& embedded = root_["images"][i];
    if (!embedded.contains("name") && !isDataUri(text)) {
      const auto name = percentDecode(text);
      embedded["name"] = std::filesystem::path(name ? *name : text).stem().string();
    }
    embedded.erase("uri");
    embedded["mimeType"] = type;
    embedded["bufferView"] = view;
  }
}

/// One buffer out of many: the bytes that buffer views speak of, in their order, each once.
void GltfDocument::layOut(std::vector<std::uint8_t>& bin) {
  struct Range {
    std::size_t begin, end;
  };
  GltfJson& views = root_["bufferViews"];
  std::vector<std::vector<Range>> ranges(buffers_.size());
  // The objects that speak of bytes: views, and what EXT_meshopt_compression adds to them.
  std::vector<GltfJson*> speakers;
  if (views.is_array()) {
    for (GltfJson& view : views) {
      if (!view.is_object()) continue;
      speakers.push_back(&view);
      GltfJson* extensions = memberOf(view, "extensions");
      GltfJson* meshopt = extensions == nullptr ? nullptr : memberOf(*extensions, "EXT_meshopt_compression");
      if (meshopt != nullptr && meshopt->is_object()) speakers.push_back(meshopt);
    }
  }
  const auto rangeOf = [&](const GltfJson& speaker, std::size_t buffer) -> Range {
    const std::size_t size = buffers_[buffer].bytes.size();
    const std::size_t begin = std::min(sizeIn(speaker, "byteOffset", 0), size);
    return {begin, begin + std::min(sizeIn(speaker, "byteLength", 0), size - begin)};
  };
  for (const GltfJson* speaker : speakers) {
    const std::size_t buffer = sizeIn(*speaker, "buffer", buffers_.size());
    if (buffer < buffers_.size() && buffers_[buffer].loaded)
      ranges[buffer].push_back(rangeOf(*speaker, buffer));
  }

  // Views may share bytes: ranges that touch are one.
  struct Piece {
    Range from;
    std::size_t to;
  };
  std::vector<std::vector<Piece>> pieces(buffers_.size());
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    std::sort(ranges[b].begin(), ranges[b].end(),
              [](const Range& x, const Range& y) { return x.begin < y.begin; });
    std::vector<Range> joined;
    for (const Range& range : ranges[b]) {
      if (!joined.empty() && range.begin <= joined.back().end) {
        joined.back().end = std::max(joined.back().end, range.end);
      } else {
        joined.push_back(range);
      }
    }
    constexpr std::size_t kAlignment = 8;  // of anything an accessor could hold
    for (const Range& range : joined) {
      while (bin.size() % kAlignment != range.begin % kAlignment)
        bin.push_back(0);
      pieces[b].push_back({range, bin.size()});
      const auto& bytes = buffers_[b].bytes;
      bin.insert(bin.end(), bytes.begin() + static_cast<std::ptrdiff_t>(range.begin),
                 bytes.begin() + static_cast<std::ptrdiff_t>(range.end));
    }
  }

  // Buffers without bytes follow the one with all.
  GltfJson old =
      root_.contains("buffers") && root_["buffers"].is_array() ? root_["buffers"] : GltfJson::array();
  GltfJson first = !old.empty() && buffers_[0].loaded && old[0].is_object() ? old[0] : GltfJson::object();
  first.erase("uri");
  first["byteLength"] = bin.size();
  GltfJson buffers = GltfJson::array();
  if (!bin.empty()) buffers.push_back(std::move(first));
  std::vector<std::size_t> number(buffers_.size(), 0);
  for (std::size_t b = 0; b < old.size(); ++b) {
    if (buffers_[b].loaded) continue;
    number[b] = buffers.size();
    buffers.push_back(std::move(old[b]));
  }
  for (GltfJson* speaker : speakers) {
    const std::size_t b = sizeIn(*speaker, "buffer", buffers_.size());
    if (b >= buffers_.size()) continue;
    (*speaker)["buffer"] = number[b];
    if (!buffers_[b].loaded) continue;
    const Range range = rangeOf(*speaker, b);
    const auto piece = std::find_if(pieces[b].begin(), pieces[b].end(), [&](const Piece& p) {
      return p.from.begin <= range.begin && range.end <= p.from.end;
    });
    (*speaker)["byteOffset"] = piece->to + (range.begin - piece->from.begin);
    (*speaker)["byteLength"] = range.end - range.begin;
  }
  if (buffers.empty()) {
    root_.erase("buffers");
  } else {
    root_["buffers"] = std::move(buffers);
  }
  if (views.is_null()) root_.erase("bufferViews");
}

Result<std::vector<std::uint8_t>> GltfDocument::finish() {
  embedImages();
  std::vector<std::uint8_t> bin;
  layOut(bin);
  return GlbBuilder(std::move(root_), std::move(bin)).finish();
}

}  // namespace heatskin
