#include "report/svg.h"

#include <fmt/format.h>

namespace cairn {

std::string svg_escaped(std::string_view text) {
  std::string safe;
  for (char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      safe += c;
  }
  return safe;
}

std::string svg_head(double width, double height, double left, std::string_view title,
                     std::string_view dark) {
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" )"
      R"(role="img" font-family="sans-serif">)"
      "\n<title>{2}</title>\n",
      width, height, svg_escaped(title));
  svg += R"(<style>
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) {
  .page { fill: #14181d; } .title { fill: #eef1f4; } .words { fill: #a9b2bc; }
  .grid { stroke: #2b323a; } .axis { stroke: #66707b; }
)";
  svg += dark;
  svg += "}\n</style>\n";
  svg += fmt::format(R"(<rect class="page" width="{}" height="{}" fill="#ffffff"/>)"
                     "\n",
                     width, height);
  svg += fmt::format(
      R"(<text class="title" x="{}" y="32" font-size="17" font-weight="600" fill="#1d232a">{}</text>)"
      "\n",
      left, svg_escaped(title));
  return svg;
}

std::string svg_words(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format(R"(<text class="words" x="{:.1f}" y="{:.1f}" font-size="12" fill="#5b6570" )"
                     "text-anchor=\"{}\">{}</text>\n",
                     x, y, anchor, svg_escaped(text));
}

}  // namespace cairn
