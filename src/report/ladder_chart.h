// The ladder as an SVG picture that stands alone: a bar a rung, piled up from its accounts, the
// budget as a line across them, what lies beyond it hatched; readable on a light and on a dark
// page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/ladder.h"

namespace cairn {

struct LadderBar {
  std::string name;
  Pile pile{};
  std::string remark;  // at the right: what the rung does, or that it does not fit
};

struct LadderChart {
  std::string title;
  std::string remarks_title;  // above the remarks
  int64_t budget_bytes = 0;
  std::vector<LadderBar> bars;
};

std::string ladder_chart_svg(const LadderChart& chart);

}  // namespace cairn
