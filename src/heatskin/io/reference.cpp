#include "heatskin/io/reference.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <system_error>

#include "heatskin/base/files.h"

namespace heatskin {
namespace {

constexpr std::string_view kOnlyRelative = "only relative paths and data URIs are supported";

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// "http:", "file:", also a drive letter "C:" (RFC 3986 scheme syntax).
bool hasScheme(std::string_view reference) {
  if (reference.empty() || !isLetter(reference[0])) return false;
  for (const char c : reference.substr(1)) {
    if (c == ':') return true;
    if (!isLetter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') return false;
  }
  return false;
}

/// Length of the valid UTF-8 sequence at the start of `text`, 0 when there is none (Unicode 15, table 3-7).
std::size_t utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::uint8_t kNotBase64 = 0xFF;

constexpr std::array<std::uint8_t, 256> makeBase64Table() {
  std::array<std::uint8_t, 256> table{};
  table.fill(kNotBase64);
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    table[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}

Result<std::vector<std::uint8_t>> decodeBase64(std::string_view text) {
  static constexpr std::array<std::uint8_t, 256> kTable = makeBase64Table();
  const auto invalid = [] { return inputError("invalid base64 in data URI"); };
  if (text.size() % 4 != 0) return invalid();
  if (text.empty()) return std::vector<std::uint8_t>{};
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::vector<std::uint8_t> bytes(text.size() / 4 * 3);
  const auto value = [&](std::size_t i) { return kTable[static_cast<unsigned char>(text[i])]; };
  const std::size_t full_groups = text.size() / 4 - (padding > 0 ? 1 : 0);
  std::uint8_t* out = bytes.data();
  for (std::size_t group = 0; group < full_groups; ++group, out += 3) {
    const std::size_t i = 4 * group;
    const std::uint8_t a = value(i), b = value(i + 1), c = value(i + 2), d = value(i + 3);
    if (((a | b | c | d) & 0xC0) != 0) return invalid();
    out[0] = static_cast<std::uint8_t>((a << 2) | (b >> 4));
    out[1] = static_cast<std::uint8_t>((b << 4) | (c >> 2));
    out[2] = static_cast<std::uint8_t>((c << 6) | d);
  }
  if (padding > 0) {
    const std::size_t i = text.size() - 4;
    const std::uint8_t a = value(i), b = value(i + 1), c = padding == 1 ? value(i + 2) : std::uint8_t{0};
    if (((a | b | c) & 0xC0) != 0) return invalid();
    // Bits under the padding must be zero, otherwise two texts would mean the same bytes.
    if ((padding == 2 && (b & 0x0F) != 0) || (padding == 1 && (c & 0x03) != 0)) return invalid();
    out[0] = static_cast<std::uint8_t>((a << 2) | (b >> 4));
    out[1] = static_cast<std::uint8_t>((b << 4) | (c >> 2));
    bytes.resize(bytes.size() - padding);
  }
  return bytes;
}

}  // namespace

std::string quoteForMessage(std::string_view text) {
  constexpr std::size_t kMaxLength = 120;
  std::string quoted = "'";
  while (!text.empty()) {
    if (quoted.size() > kMaxLength) {
      quoted += "...";
      break;
    }
    const std::size_t length = utf8Length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      quoted += '?';
      text.remove_prefix(1);
    } else {
      quoted += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return quoted + "'";
}

std::string repairUtf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    if (length == 0) {
      repaired += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      repaired += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return repaired;
}

Result<std::filesystem::path> resolveReference(const std::filesystem::path& asset_folder,
                                               std::string_view reference) {
  const auto refuse = [&](std::string_view why) {
    return inputError(quoteForMessage(reference) + ": " + std::string(why));
  };
  const std::string_view leaves = "path leaves the asset's folder";
  if (reference.empty()) return refuse("the file name is empty");
  if (reference.find('\0') != std::string_view::npos) return refuse("the file name contains a NUL byte");
  if (hasScheme(reference) || reference[0] == '/') return refuse(kOnlyRelative);
  if (reference.find('\\') != std::string_view::npos) {
    return refuse("a backslash in a path is not supported, write '/' instead");
  }

  // Lexically first, so that a path over folders that do not exist is judged as well.
  int depth = 0;
  for (std::string_view rest = reference; !rest.empty();) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (part == "..") {
      if (--depth < 0) return refuse(leaves);
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
  }

  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::weakly_canonical(asset_folder.empty() ? "." : asset_folder, error);
  if (error) return refuse("the asset's folder cannot be resolved: " + error.message());
  const std::filesystem::path file =
      std::filesystem::weakly_canonical(folder / std::filesystem::path(std::string(reference)), error);
  if (error) return refuse("cannot be resolved: " + error.message());
  const auto [folder_end, file_at] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  if (folder_end != folder.end()) return refuse(leaves);
  if (file_at == file.end()) return refuse("is the asset's folder, not a file");
  return file;
}

Result<std::vector<std::uint8_t>> readReference(const std::filesystem::path& asset_folder,
                                                std::string_view reference) {
  Result<std::filesystem::path> path = resolveReference(asset_folder, reference);
  if (!path) return path.error();
  Result<std::vector<std::uint8_t>> bytes = readFile(*path);
  if (bytes) return bytes;
  Error error = bytes.error();
  if (const std::string shown = displayPath(*path); error.message.starts_with(shown)) {
    error.message.replace(0, shown.size(), quoteForMessage(reference));
  }
  return error;
}

Result<std::string> percentDecode(std::string_view uri) {
  std::string decoded;
  decoded.reserve(uri.size());
  for (std::size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] != '%') {
      decoded += uri[i];
      continue;
    }
    const int high = i + 2 < uri.size() ? hexValue(uri[i + 1]) : -1;
    const int low = i + 2 < uri.size() ? hexValue(uri[i + 2]) : -1;
    if (high < 0 || low < 0) return inputError(quoteForMessage(uri) + ": '%' without two hexadecimal digits");
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

bool isDataUri(std::string_view uri) {
  constexpr std::string_view kScheme = "data:";
  return uri.size() >= kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), uri.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

Result<std::vector<std::uint8_t>> decodeDataUri(std::string_view uri) {
  if (!isDataUri(uri)) return inputError("not a data URI");
  const std::size_t comma = uri.find(',');
  if (comma == std::string_view::npos) return inputError("data URI without a comma");
  if (!uri.substr(0, comma).ends_with(";base64")) {
    return inputError("only base64 data URIs are supported");
  }
  return decodeBase64(uri.substr(comma + 1));
}

}  // namespace heatskin
