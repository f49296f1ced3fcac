#include "heatskin/base/result.h"

namespace heatskin {
namespace {

class SilentProgress final : public Progress {
 public:
  void begin(std::string_view, std::size_t) override {}
  void update(std::size_t, std::string_view) override {}
  void end() override {}
};

}  // namespace

Progress& silentProgress() {
  static SilentProgress instance;
  return instance;
}

}  // namespace heatskin
