#pragma once

// What people see: results on stdout, messages and progress on stderr, colours only where they are wanted.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/plural.h"
#include "heatskin/base/result.h"

namespace heatskin::cli {

/// `text` without line breaks, control characters and invalid UTF-8: whatever a file name or a file's content
/// holds, a message stays one line and does not steer the terminal.
std::string oneLine(std::string_view text);

/// Printed width of UTF-8 text, one column per code point.
std::size_t displayWidth(std::string_view text);

/// The process's stdout and stderr. Nothing here throws; results are collected and written by flush().
class Console : public Progress {
 public:
  Console();
  ~Console() override;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// No results for people, no progress, no warnings; errors remain.
  void setQuiet(bool quiet) { quiet_ = quiet; }
  bool quiet() const { return quiet_; }

  /// stdout carries JSON: nothing else may go there.
  void reserveStdout() { stdout_reserved_ = true; }

  /// True when the user sees both streams at one place.
  bool bothTerminals() const { return stdout_terminal_ && stderr_terminal_; }

  /// Adds a line to the results.
  void line(std::string_view text = {});
  /// Adds a headline to the results.
  void heading(std::string_view text);
  /// Adds rows with aligned columns; `indent` spaces before each. Rows may differ in length.
  void table(const std::vector<std::vector<std::string>>& rows, std::size_t indent = 2);

  /// Writes the collected results. A reader that has gone or a closed stdout is no error; a full disk is.
  Result<void> flush();

  /// Writes to stdout at once; for JSON. A closed stdout is an error here, because someone asked for it.
  Result<void> writeStdout(std::string_view text);

  void warning(std::string_view message);
  void error(std::string_view message);

  // Progress: a bar with rate and ETA on a terminal, otherwise a line now and then.
  void begin(std::string_view phase, std::size_t total) override;
  void update(std::size_t done, std::string_view detail) override;
  void end() override;
  bool cancelled() const override;

 private:
  using Clock = std::chrono::steady_clock;

  void message(std::string_view label, std::string_view color, std::string_view text);
  void drawProgress(bool final);
  void clearProgress();

  bool quiet_ = false;
  bool stdout_reserved_ = false;
  bool stdout_terminal_ = false;
  bool stderr_terminal_ = false;
  bool stdout_color_ = false;
  bool stderr_color_ = false;
  std::string results_;

  std::string phase_;
  std::string detail_;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::size_t first_done_ = 0;  // at first_time_: work that was done before does not count for the rate
  bool in_phase_ = false;
  bool updated_ = false;  // in this phase
  bool bar_visible_ = false;
  Clock::time_point phase_start_;
  Clock::time_point first_time_;
  Clock::time_point last_draw_;
};

/// "1.2 GB", "340 kB": powers of 1000.
std::string humanBytes(double bytes);

/// "12 s", "3 min 20 s", "0.34 s".
std::string humanSeconds(double seconds);

/// `value` with so many decimals; what rounds to zero is 0, never -0.
std::string fixed(double value, int decimals);

/// A share as "0.12 %": three digits, never an exponent.
std::string percent(double share);

/// "1 face", "2 faces".
std::string counted(std::size_t count, std::string_view singular, std::string_view plural);

}  // namespace heatskin::cli
