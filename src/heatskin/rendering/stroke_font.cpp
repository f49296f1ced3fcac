#include "heatskin/rendering/stroke_font.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>

namespace heatskin::font {
namespace {

constexpr float kSpacing = 1.9f;     // between the pens of two letters
constexpr float kSpaceWidth = 2.9f;  // advance of the space
constexpr int kArcSegments = 6;      // of a quarter ellipse

/// A letter as a path: M x y begins a stroke, L x y is a line, h x y and v x y are quarter ellipses that
/// leave horizontally and vertically. A stroke of no length is a dot.
struct Path {
  char character;
  const char* path;
};

constexpr Path kPaths[] = {
    {'!', "M.3 7L.3 2.2M.3 0L.3 0"},
    {'"', "M0 7L0 5M1.6 7L1.6 5"},
    {'#', "M1.4 0L2.2 7M3.4 0L4.2 7M.3 4.8L5 4.8M0 2.2L4.7 2.2"},
    {'$', "M4.2 5.2h2.2 6L2 6v.2 4.8v2.2 3.5v4.3 1.9v2.3.6L1.9.6v0 1.6M2.2 7.2L2.2-.6"},
    {'%', "M1.2 7h2.4 5.6v1.2 4.2h0 5.6v1.2 7M4.8 2.8h6 1.4v4.8 0h3.6 1.4v4.8 2.8M5 7L1 0"},
    {'&', "M5 0L1.2 4.8v2.3 7h3.6 5.8v2 3.6v0 1.7v1.9 0h5 2.6"},
    {'\'', "M0 7L0 5"},
    {'(', "M1.6 7.8h0 3.1v1.6-1.6"},
    {')', "M0 7.8h1.6 3.1v0-1.6"},
    {'*', "M1.7 7L1.7 3.6M.2 6.2L3.2 4.4M3.2 6.2L.2 4.4"},
    {'+', "M2.2 5.2L2.2.8M0 3L4.4 3"},
    {',', "M.7.2L.2-1.4"},
    {'-', "M0 2.8L2.6 2.8"},
    {'.', "M.3 0L.3 0"},
    {'/', "M0-.8L2.8 7.4"},
    {'0', "M2.2 7h4.4 3.5v2.2 0h0 3.5v2.2 7"},
    {'1', "M.4 5.6L2.2 7L2.2 0"},
    {'2', "M0 5.2v2.1 7h4.2 5.1v3.4 3.2L0 0L4.4 0"},
    {'3', "M.2 6v1.9 7h4 5.3v1.8 3.7L1.3 3.7M1.8 3.7h4.3 1.9v2 0h0 1.2"},
    {'4', "M3.5 0L3.5 7L0 1.9L4.7 1.9"},
    {'5', "M4 7L.6 7L.3 3.8v2 4.5h4.4 2.2v2 0h0 1.1"},
    {'6', "M3.9 6.4v2.6 7h0 3L0 2.2v2.2 0h4.4 2.2v2.2 4.3h0 2.2"},
    {'7', "M0 7L4.3 7L1.4 0"},
    {'8', "M2.2 7h4.1 5.4v2.2 3.7h.3 5.4v2.2 7M2.2 3.7h4.4 1.9v2.2 0h0 1.9v2.2 3.7"},
    {'9', "M.5.6v1.8 0h4.4 4L4.4 4.8v2.2 7h0 4.8v2.2 2.7h4.4 4.8"},
    {':', "M.3 4.4L.3 4.4M.3.4L.3.4"},
    {';', "M.6 4.4L.6 4.4M.8.4L.2-1.3"},
    {'<', "M4 5.4L0 3L4 .6"},
    {'=', "M0 4L4.4 4M0 2L4.4 2"},
    {'>', "M0 5.4L4 3L0 .6"},
    {'?', "M0 5.6v1.7 7h3.6 5.4v1.8 3.4L1.8 2.2M1.8 0L1.8 0"},
    {'@', "M5 2v4.1 1.6h2.2 3v3.6 4.4h5 3L5 2v5.6 1.4h6.8 3.2v3.5 7h0 3.2v3.5-1L5-.8"},
    {'A', "M0 0L2.6 7L5.2 0M.9 2.3L4.3 2.3"},
    {'B', "M0 0L0 7L2.2 7h4 5.4v2.2 3.8L0 3.8M2.2 3.8h4.5 1.9v2.4 0L0 0"},
    {'C', "M4.7 5.6v2.7 7h0 3.5v2.7 0h4.7 1.4"},
    {'D', "M0 0L0 7L1.8 7h4.9 3.5v1.8 0L0 0"},
    {'E', "M4 7L0 7L0 0L4 0M0 3.7L3.5 3.7"},
    {'F', "M3.9 7L0 7L0 0M0 3.6L3.4 3.6"},
    {'G', "M4.8 5.7v2.7 7h0 3.5v2.7 0h5 1.6L5 3.3L3 3.3"},
    {'H', "M0 0L0 7M4.8 0L4.8 7M0 3.7L4.8 3.7"},
    {'I', "M.3 0L.3 7"},
    {'J', "M2.8 7L2.8 1.6v1.3 0h0 1"},
    {'K', "M0 0L0 7M4.6 7L.2 2.9M1.6 4.2L4.8 0"},
    {'L', "M0 7L0 0L3.8 0"},
    {'M', "M0 0L0 7L2.9 1.6L5.8 7L5.8 0"},
    {'N', "M0 0L0 7L4.7 0L4.7 7"},
    {'O', "M2.7 7h5.4 3.5v2.7 0h0 3.5v2.7 7"},
    {'P', "M0 0L0 7L2.2 7h4.4 5.1v2.2 3.1L0 3.1"},
    {'Q', "M2.7 7h5.4 3.5v2.7 0h0 3.5v2.7 7M3.2 1.6L5.3-.8"},
    {'R', "M0 0L0 7L2.2 7h4.3 5.2v2.2 3.4L0 3.4M2.4 3.4L4.6 0"},
    {'S', "M4.2 5.8v2.2 7h.2 5.4v2.2 3.7h4.4 1.9v2.2 0h0 1.3"},
    {'T', "M0 7L4.8 7M2.4 7L2.4 0"},
    {'U', "M0 7L0 2.3v2.4 0h4.8 2.3L4.8 7"},
    {'V', "M0 7L2.5 0L5 7"},
    {'W', "M0 7L1.7 0L3.5 6L5.3 0L7 7"},
    {'X', "M0 7L4.6 0M4.6 7L0 0"},
    {'Y', "M0 7L2.4 3.4L4.8 7M2.4 3.4L2.4 0"},
    {'Z', "M.1 7L4.5 7L0 0L4.7 0"},
    {'[', "M1.5 7.8L0 7.8L0-1.4L1.5-1.4"},
    {'\\', "M0 7.4L2.8-.8"},
    {']', "M0 7.8L1.5 7.8L1.5-1.4L0-1.4"},
    {'^', "M0 4.6L1.8 7L3.6 4.6"},
    {'_', "M0-1.4L4.2-1.4"},
    {'`', "M0 7L1.1 5.8"},
    {'a', "M.4 4.2v1.8 5h3.6 3.6L3.6 0M3.6 2.9L1.8 2.9h0 1.4v1.4 0h3.6 1.6"},
    {'b', "M0 7L0 0M0 2.5v2 5h4 2.5v2 0h0 2.5"},
    {'c', "M3.6 4.1v2 5h0 2.5v2 0h3.6.9"},
    {'d', "M4 7L4 0M4 2.5v2 5h0 2.5v2 0h4 2.5"},
    {'e', "M0 2.6L4 2.6v2 5h0 2.5v2.1 0h3.8.9"},
    {'f', "M2.7 7h1 5.6L1 0M0 4.8L2.5 4.8"},
    {'g', "M4 5L4-.4v2-2.1h.3-1.3M4 2.5v2 5h0 2.5v2 0h4 2.5"},
    {'h', "M0 7L0 0M0 3v2 5h3.7 3.2L3.7 0"},
    {'i', "M.3 5L.3 0M.3 6.9L.3 6.9"},
    {'j', "M1 5L1-.9v0-2M1 6.9L1 6.9"},
    {'k', "M0 7L0 0M3.5 5L.2 2M1.2 2.9L3.7 0"},
    {'l', "M.3 7L.3 1.2v1.4 0"},
    {'m', "M0 5L0 0M0 3.3v1.5 5h3 3.4L3 0M3 3.3v4.5 5h6 3.4L6 0"},
    {'n', "M0 5L0 0M0 3v2 5h3.7 3.2L3.7 0"},
    {'o', "M2 5h4 2.5v2 0h0 2.5v2 5"},
    {'p', "M0 5L0-2M0 2.5v2 5h4 2.5v2 0h0 2.5"},
    {'q', "M4 5L4-2M4 2.5v2 5h0 2.5v2 0h4 2.5"},
    {'r', "M0 5L0 0M0 2.9v2 5L2.3 5"},
    {'s', "M3.2 4.1v1.7 5h.2 3.8v1.7 2.6h3.4 1.3v1.7 0h0 .9"},
    {'t', "M1 6.5L1 1.4v2.4 0M0 4.8L2.4 4.8"},
    {'u', "M0 5L0 1.8v1.8 0h3.7 2M3.7 5L3.7 0"},
    {'v', "M0 5L1.9 0L3.8 5"},
    {'w', "M0 5L1.4 0L2.8 4.4L4.2 0L5.6 5"},
    {'x', "M0 5L3.6 0M3.6 5L0 0"},
    {'y', "M0 5L1.9 0M3.8 5L1.6-.8v.1-2"},
    {'z', "M0 5L3.4 5L0 0L3.5 0"},
    {'{', "M2 7.8h1 6.8L1 4.4v0 3.2v1 2L1-.4v2-1.4"},
    {'|', "M.3 7.8L.3-1.6"},
    {'}', "M0 7.8h1 6.8L1 4.4v2 3.2v1 2L1-.4v0-1.4"},
    {'~', "M0 2.4v1.2 3.6h2.2 3v3.2 2.4h4.4 3.6"},
};

constexpr const char* kBox = "M0 0L0 7L4 7L4 0L0 0";

/// The next number of a path, whatever the locale; `path` moves behind it.
float number(const char*& path) {
  while (*path == ' ')
    ++path;
  float value = 0;
  path = std::from_chars(path, path + std::strlen(path), value).ptr;
  return value;
}

Glyph parsed(const char* path) {
  Glyph result;
  Vec2f at = Vec2f::Zero();
  float right = 0;
  const auto line = [&](const Vec2f& to) {
    result.segments.push_back({at, to});
    right = std::max({right, at.x(), to.x()});
    at = to;
  };
  while (*path != 0) {
    const char command = *path++;
    const float x = number(path), y = number(path);
    const Vec2f to(x, y), from = at;
    if (command == 'M') {
      at = to;
    } else if (command == 'L') {
      line(to);
    } else {
      for (int i = 1; i <= kArcSegments; ++i) {
        const float angle = static_cast<float>(i) / kArcSegments * std::numbers::pi_v<float> / 2;
        const float fast = std::sin(angle), slow = 1 - std::cos(angle);
        line(command == 'h' ? Vec2f(from.x() + fast * (x - from.x()), from.y() + slow * (y - from.y()))
                            : Vec2f(from.x() + slow * (x - from.x()), from.y() + fast * (y - from.y())));
      }
    }
  }
  result.advance = right + kSpacing;
  return result;
}

}  // namespace

const Glyph& glyph(char character) {
  static const std::array<Glyph, 128> kGlyphs = [] {
    std::array<Glyph, 128> table;
    table.fill(parsed(kBox));
    for (const Path& path : kPaths)
      table[static_cast<unsigned char>(path.character)] = parsed(path.path);
    table[' '] = {kSpaceWidth, {}};
    // Digits stand in columns.
    float widest = 0;
    for (char c = '0'; c <= '9'; ++c)
      widest = std::max(widest, table[static_cast<unsigned char>(c)].advance);
    for (char c = '0'; c <= '9'; ++c)
      table[static_cast<unsigned char>(c)].advance = widest;
    return table;
  }();
  const auto code = static_cast<unsigned char>(character);
  return kGlyphs[code < 128 ? code : 127];
}

}  // namespace heatskin::font
