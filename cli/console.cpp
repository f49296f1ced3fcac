#include "cli/console.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/interrupt.h"

namespace heatskin::cli {
namespace {

constexpr double kBarInterval_s = 0.1;    // a terminal shows no more than ten pictures a second to advantage
constexpr double kLineInterval_s = 10.0;  // a log file wants to be short
constexpr double kShortPhase_s = 1.0;     // a phase that took less deserves no line in a log file

bool environmentSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Length of the valid UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto follows = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  if (text.empty()) return 0;
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xC2 && byte(0) < 0xE0) return follows(1) ? 2 : 0;
  if (byte(0) >= 0xE0 && byte(0) < 0xF0) {
    if (!follows(1) || !follows(2)) return 0;
    const bool overlong = byte(0) == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = byte(0) == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (byte(0) >= 0xF0 && byte(0) < 0xF5) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    const bool overlong = byte(0) == 0xF0 && byte(1) < 0x90;
    const bool too_large = byte(0) == 0xF4 && byte(1) >= 0x90;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

/// 0 or the errno of the failed write.
int writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

std::size_t terminalWidth() {
  winsize size{};
  if (::ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

}  // namespace

std::string oneLine(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    const auto byte = static_cast<std::uint8_t>(text[0]);
    // C1 controls are U+0080..U+009F: C2 80..C2 9F.
    const bool c1 = length == 2 && byte == 0xC2 && static_cast<std::uint8_t>(text[1]) < 0xA0;
    if (length == 0) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (byte == '\n') {
      result += "\\n";
    } else if (byte == '\t') {
      result += ' ';
    } else if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (c1) {
      result += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[1]));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::size_t displayWidth(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80; }));
}

Console::Console()
    : stdout_terminal_(::isatty(1) == 1),
      stderr_terminal_(::isatty(2) == 1),
      phase_start_(Clock::now()),
      last_draw_(Clock::now()) {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::strcmp(terminal, "dumb") == 0;
  const bool color = !environmentSet("NO_COLOR") && !dumb;
  stdout_color_ = color && stdout_terminal_;
  stderr_color_ = color && stderr_terminal_;
  if (dumb) stderr_terminal_ = false;  // cannot redraw a line
}

Console::~Console() {
  clearProgress();
}

void Console::line(std::string_view text) {
  results_ += text;
  results_ += '\n';
}

void Console::heading(std::string_view text) {
  if (!results_.empty()) results_ += '\n';
  line(stdout_color_ ? fmt::format("\033[1m{}\033[0m", text) : std::string(text));
}

void Console::table(const std::vector<std::vector<std::string>>& rows, std::size_t indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    // The last cell of a row may be long text; it does not widen the column of others.
    for (std::size_t c = 0; c + 1 < row.size(); ++c) {
      if (c >= widths.size()) widths.push_back(0);
      widths[c] = std::max(widths[c], displayWidth(row[c]));
    }
  }
  for (const auto& row : rows) {
    std::string text(indent, ' ');
    for (std::size_t c = 0; c < row.size(); ++c) {
      text += row[c];
      if (c + 1 < row.size()) text.append(widths[c] - displayWidth(row[c]) + 2, ' ');
    }
    line(text);
  }
}

Result<void> Console::flush() {
  clearProgress();
  std::string text;
  std::swap(text, results_);
  if (quiet_ || stdout_reserved_) return {};
  const int error = writeAll(1, text);
  if (error == 0 || error == EPIPE || error == EBADF) return {};
  return failure(fmt::format("standard output cannot be written: {}", std::strerror(error)));
}

Result<void> Console::writeStdout(std::string_view text) {
  clearProgress();
  const int error = writeAll(1, text);
  if (error == 0 || error == EPIPE) return {};
  return failure(fmt::format("standard output cannot be written: {}", std::strerror(error)));
}

void Console::message(std::string_view label, std::string_view color, std::string_view text) {
  clearProgress();
  const std::string shown = oneLine(text);
  const std::string line = stderr_color_
                               ? fmt::format("heatskin: \033[{}m{}:\033[0m {}\n", color, label, shown)
                               : fmt::format("heatskin: {}: {}\n", label, shown);
  writeAll(2, line);  // nobody is left to hear that this failed
}

void Console::warning(std::string_view text) {
  if (!quiet_) message("warning", "33", text);
}

void Console::error(std::string_view text) {
  message("error", "1;31", text);
}

void Console::begin(std::string_view phase, std::size_t total) {
  if (in_phase_) end();
  phase_ = oneLine(phase);
  detail_.clear();
  total_ = total;
  done_ = first_done_ = 0;
  in_phase_ = true;
  updated_ = false;
  phase_start_ = first_time_ = last_draw_ = Clock::now();
  if (stderr_terminal_) drawProgress(false);
}

void Console::update(std::size_t done, std::string_view detail) {
  if (!in_phase_ || quiet_) return;
  done_ = done;
  if (!updated_ && done > 1) {
    first_done_ = done;
    first_time_ = Clock::now();
  }
  updated_ = true;
  detail_ = oneLine(detail);
  const double since = std::chrono::duration<double>(Clock::now() - last_draw_).count();
  const bool last = total_ > 0 && done_ >= total_;  // end() is about to say so
  if (!last && since >= (stderr_terminal_ ? kBarInterval_s : kLineInterval_s)) drawProgress(false);
}

void Console::end() {
  if (!in_phase_) return;
  if (total_ > 0) done_ = total_;
  if (!stderr_terminal_) drawProgress(true);
  clearProgress();
  in_phase_ = false;
}

bool Console::cancelled() const {
  return interrupted();
}

void Console::drawProgress(bool final) {
  if (quiet_) return;
  last_draw_ = Clock::now();
  const double elapsed = std::chrono::duration<double>(last_draw_ - phase_start_).count();
  std::string numbers;
  if (final) {
    numbers = fmt::format("done in {}", humanSeconds(elapsed));
  } else if (total_ > 0) {
    const double fraction = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    numbers = fmt::format("{:3.0f}%  {}/{}", 100 * fraction, done_, total_);
    const double working = std::chrono::duration<double>(last_draw_ - first_time_).count();
    if (done_ > first_done_ && working > 0) {
      const double rate = static_cast<double>(done_ - first_done_) / working;
      numbers += fmt::format("  {:.3g}/s", rate);
      if (done_ < total_) {
        numbers += fmt::format("  ETA {}", humanSeconds(static_cast<double>(total_ - done_) / rate));
      }
    }
  } else if (elapsed >= kBarInterval_s) {
    numbers = humanSeconds(elapsed);
  }
  if (!detail_.empty()) numbers += "  " + detail_;

  if (!stderr_terminal_) {
    if (final && elapsed < kShortPhase_s) return;
    writeAll(2, fmt::format("heatskin: {}: {}\n", phase_, numbers));
    return;
  }
  constexpr std::size_t kBarCells = 24;
  std::string bar;
  if (total_ > 0) {
    const auto filled = static_cast<std::size_t>(
        std::lround(static_cast<double>(kBarCells * std::min(done_, total_)) / static_cast<double>(total_)));
    bar = fmt::format("[{}{}] ", std::string(filled, '#'), std::string(kBarCells - filled, '.'));
  }
  std::string text = fmt::format("{}  {}{}", phase_, bar, numbers);
  // A line that wraps could not be drawn over.
  const std::size_t width = terminalWidth() - 1;
  while (displayWidth(text) > width) {
    text.pop_back();
    while (!text.empty() && (static_cast<std::uint8_t>(text.back()) & 0xC0) == 0x80)
      text.pop_back();
  }
  writeAll(2, "\r" + text + "\033[K");
  bar_visible_ = true;
}

void Console::clearProgress() {
  if (!bar_visible_) return;
  writeAll(2, "\r\033[K");
  bar_visible_ = false;
}

std::string humanBytes(double bytes) {
  constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit > 0 && bytes < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string humanSeconds(double seconds) {
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<long>(std::min(seconds, 1e9));
  if (seconds < 7200) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')) text.erase(0, 1);
  return text;
}

std::string percent(double share) {
  const double value = 100 * share;
  const double size = std::abs(value);
  if (!(size > 0)) return std::isnan(value) ? "unknown" : "0 %";
  if (size < 1e-4) return value > 0 ? "under 0.0001 %" : "0 %";
  // Three digits: 99.9, 0.0123; but 1021 is 1021.
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 6);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text + " %";
}

std::string counted(std::size_t count, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", grouped(count), count == 1 ? singular : plural);
}

}  // namespace heatskin::cli
