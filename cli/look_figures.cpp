#include "cli/look_figures.h"

#include <utility>

#include "cli/verb.h"

namespace heatskin::cli {

void addLooks(Json& json, std::span<const LookFigure> looks) {
  for (const LookFigure& look : looks) {
    Json entry = {{"names", look.names}};
    addDecibels(entry, "surface_psnr_source", look.surface_psnr_source);
    json["variants"].push_back(std::move(entry));
  }
}

}  // namespace heatskin::cli
