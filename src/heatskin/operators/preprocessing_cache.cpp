#include "heatskin/operators/preprocessing_cache.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <new>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "heatskin/base/files.h"

namespace heatskin {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "files are written as the machine stores numbers");

// Magic, version, two words of the key, bytes of the payload, hash of the payload; then the payload.
constexpr std::string_view kMagic = "HSKCACH\n";
constexpr std::uint32_t kFormatVersion = 1;
constexpr std::size_t kHeaderBytes = kMagic.size() + sizeof(std::uint32_t) + 4 * sizeof(std::uint64_t);
constexpr std::string_view kExtension = ".hskcache";

using Header = std::array<std::uint8_t, kHeaderBytes>;

Header headerOf(const CacheKey& key, std::span<const std::uint8_t> payload) {
  Header header{};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  std::memcpy(header.data() + kMagic.size(), &kFormatVersion, sizeof(kFormatVersion));
  const std::array<std::uint64_t, 4> words = {key.digest[0], key.digest[1], payload.size(),
                                              XXH3_64bits(payload.data(), payload.size())};
  std::memcpy(header.data() + kMagic.size() + sizeof(kFormatVersion), words.data(), sizeof(words));
  return header;
}

XXH3_state_t* stateOf(void* state) {
  return static_cast<XXH3_state_t*>(state);
}

}  // namespace

ContentHash::ContentHash() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(stateOf(state_));
}

ContentHash::~ContentHash() {
  XXH3_freeState(stateOf(state_));
}

void ContentHash::addBytes(std::span<const std::uint8_t> bytes) {
  XXH3_128bits_update(stateOf(state_), bytes.data(), bytes.size());
}

void ContentHash::add(const Surface& surface) {
  const auto addAll = [&](const auto& items) {
    add(std::uint64_t{items.size()});
    addBytes({reinterpret_cast<const std::uint8_t*>(items.data()), items.size_bytes()});
  };
  addAll(surface.positions());
  addAll(surface.faces());
  add(std::uint64_t{surface.frames().size()});
  for (const FaceFrame& frame : surface.frames()) {
    for (const Vec3* axis : {&frame.x_axis, &frame.y_axis})
      addBytes({reinterpret_cast<const std::uint8_t*>(axis->data()), 3 * sizeof(double)});
  }
}

std::array<std::uint64_t, 2> ContentHash::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(stateOf(state_));
  return {hash.high64, hash.low64};
}

std::string CacheKey::fileName() const {
  return fmt::format("{}-{:016x}{:016x}{}", kind, digest[0], digest[1], kExtension);
}

PreprocessingCache::PreprocessingCache(fs::path folder, std::uint64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

PreprocessingCache PreprocessingCache::fromEnvironment() {
  if (const char* folder = std::getenv("HEATSKIN_CACHE"); folder != nullptr) {
    if (std::string_view(folder).empty() || std::string_view(folder) == "off") return {};
    return PreprocessingCache(folder);
  }
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && fs::path(folder).is_absolute())
    return PreprocessingCache(fs::path(folder) / "heatskin");
  if (const char* home = std::getenv("HOME"); home != nullptr && fs::path(home).is_absolute())
    return PreprocessingCache(fs::path(home) / ".cache" / "heatskin");
  return {};
}

std::optional<std::vector<std::uint8_t>> PreprocessingCache::load(const CacheKey& key) const {
  if (!enabled()) return std::nullopt;
  const fs::path path = folder_ / key.fileName();
  try {
    auto bytes = readFile(path);
    if (!bytes || bytes->size() < kHeaderBytes) return std::nullopt;
    const std::span<const std::uint8_t> payload = std::span(*bytes).subspan(kHeaderBytes);
    const Header expected = headerOf(key, payload);
    if (!std::equal(expected.begin(), expected.end(), bytes->begin())) return std::nullopt;
    // Used now: the last to make room for others.
    std::error_code ignored;
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
    bytes->erase(bytes->begin(), bytes->begin() + kHeaderBytes);
    return std::move(*bytes);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

void PreprocessingCache::store(const CacheKey& key, std::span<const std::uint8_t> payload) {
  const std::uint64_t size = kHeaderBytes + payload.size();
  if (!enabled() || size > max_bytes_ || size > kMaxFileBytes) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  Result<void> written;
  if (error) {
    written = failure(fmt::format("{}: {}", displayPath(folder_), error.message()));
  } else {
    makeRoom(size);
    const Header header = headerOf(key, payload);
    std::vector<std::uint8_t> bytes(size);
    std::copy(payload.begin(), payload.end(), std::copy(header.begin(), header.end(), bytes.begin()));
    written = writeFileAtomically(folder_ / key.fileName(), bytes);
  }
  if (!written && notices_.empty()) {
    notices_.push_back(
        {"cache_not_written", fmt::format("preprocessing cannot be cached for the next run: {}; set "
                                          "HEATSKIN_CACHE to a writable folder, or to off",
                                          written.error().message)});
  }
}

void PreprocessingCache::makeRoom(std::uint64_t bytes) const {
  struct Entry {
    fs::file_time_type used;
    fs::path path;
    std::uint64_t size;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    // Another process may remove a file between two of these calls: then its size is an error, and it is
    // gone.
    std::error_code gone;
    const std::string name = it->path().filename().string();
    if (!it->is_regular_file(gone)) continue;
    const auto used = it->last_write_time(gone);
    const auto size = it->file_size(gone);
    if (gone) continue;
    if (name.ends_with(kExtension)) {
      entries.push_back({used, it->path(), size});
      total += size;
    } else {
      removeIfAbandoned(it->path());
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  for (const Entry& entry : entries) {
    if (total + bytes <= max_bytes_) break;
    fs::remove(entry.path, error);
    total -= entry.size;
  }
}

}  // namespace heatskin
