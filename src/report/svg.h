// What every SVG picture here begins with, and its text: no script, no font file, no library.
// Colours are attributes, so that simple viewers draw the light picture, and a style sheet
// recolours it on a dark page.
#pragma once

#include <string>
#include <string_view>

namespace cairn {

// Text that may stand between tags; control characters are dropped.
std::string svg_escaped(std::string_view text);

// The head of a picture up to its title at `left`. `dark` are the rules for a dark page, beside
// those of page, title, words, grid and axis. "</svg>\n" closes it.
std::string svg_head(double width, double height, double left, std::string_view title,
                     std::string_view dark);

// 12 pixels high; `anchor` is start, middle or end.
std::string svg_words(double x, double y, std::string_view anchor, std::string_view text);

}  // namespace cairn
