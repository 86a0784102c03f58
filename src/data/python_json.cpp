// Writing values; nlohmann escapes strings as Python does.
#include "data/python_json.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace cairn {
namespace {

using nlohmann::ordered_json;

// As repr() of a float: the shortest digits, with an exponent below 1e-4 and from 1e16 on.
std::string python_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  char buffer[400];
  const auto scientific =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string text(buffer, scientific.ptr);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return text;
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  std::string plain(buffer, fixed.ptr);
  if (plain.find('.') == plain.npos) plain += ".0";
  return plain;
}

struct Writer {
  int indent;
  std::string text = {};

  void line(int depth) {
    if (indent > 0) text.append(1, '\n').append(static_cast<size_t>(indent * depth), ' ');
  }
  void separate(bool first, int depth) {
    if (!first) text += indent > 0 ? "," : ", ";
    line(depth);
  }
  void write(const ordered_json& value, int depth) {
    if (value.is_object() && !value.empty()) {
      text += '{';
      bool first = true;
      for (const auto& [key, member] : value.items()) {
        separate(std::exchange(first, false), depth + 1);
        text.append(ordered_json(key).dump(-1, ' ', false)).append(": ");
        write(member, depth + 1);
      }
      line(depth);
      text += '}';
    } else if (value.is_array() && !value.empty()) {
      text += '[';
      bool first = true;
      for (const ordered_json& item : value) {
        separate(std::exchange(first, false), depth + 1);
        write(item, depth + 1);
      }
      line(depth);
      text += ']';
    } else if (value.is_number_float()) {
      text += python_float(value.get<double>());
    } else {
      text += value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    }
  }
};

}  // namespace

std::string python_json(const ordered_json& value, int indent) {
  Writer writer{indent};
  writer.write(value, 0);
  return std::move(writer.text);
}

}  // namespace cairn
