#pragma once

// Notices of the text readers: a file can repeat one fault a million times, the user wants to read it once.

#include <cstddef>
#include <string>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

/// Counts notices by code; the first message of a code is the one that is kept.
class NoticeCounter {
 public:
  bool has(const std::string& code) const {
    for (const Notice& notice : notices_) {
      if (notice.code == code) return true;
    }
    return false;
  }

  /// `message` is called only for the first notice of a code, so that counting a million costs nothing.
  template <class MakeMessage>
  void add(const char* code, const MakeMessage& message, bool warning = true) {
    for (Notice& notice : notices_) {
      if (notice.code == code) {
        ++notice.count;
        return;
      }
    }
    notices_.push_back({code, message(), 1, warning});
  }

  /// Moves the notices to the end of `out`; those that happened more than once say so.
  void appendTo(std::vector<Notice>& out) {
    for (Notice& notice : notices_) {
      if (notice.count > 1) {
        notice.message += " (the first of " + std::to_string(notice.count) + ")";
      }
      out.push_back(std::move(notice));
    }
    notices_.clear();
  }

 private:
  std::vector<Notice> notices_;
};

}  // namespace heatskin
