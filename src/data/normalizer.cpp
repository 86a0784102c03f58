// Normal forms by utf8proc.
#include "data/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/json_field.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr const char* kWhere = "tokenizer.json: normalizer";

struct Form {
  const char* type;
  int options;
};
constexpr Form kForms[] = {{"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
                           {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
                           {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                           {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

}  // namespace

Normalizer::Normalizer(const json& description) {
  if (!description.is_null()) add(description);
}

void Normalizer::add(const json& description) {
  const std::string type = string_field(description, "type", "", kWhere);
  if (type == "Sequence") {
    for (const json& part : field_of(description, "normalizers", kWhere)) add(part);
    return;
  }
  for (const Form& form : kForms)
    if (type == form.type) {
      forms_.push_back(form.options);
      return;
    }
  throw UserError(fmt::format(
      "tokenizer.json asks for the normalizer type \"{}\", which is not built; built are NFC, NFD, "
      "NFKC, NFKD and a Sequence of them",
      type));
}

std::string Normalizer::normalize(std::string_view text) const {
  std::string normal(text);
  if (is_ascii(text)) return normal;
  for (const int form : forms_) {
    utf8proc_uint8_t* mapped = nullptr;
    const auto bytes = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(normal.data()),
                                    static_cast<utf8proc_ssize_t>(normal.size()), &mapped,
                                    static_cast<utf8proc_option_t>(form));
    const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
    CAIRN_CHECK(bytes >= 0, "[normalizer] wanted valid UTF-8, got {}", utf8proc_errmsg(bytes));
    normal.assign(reinterpret_cast<const char*>(mapped), static_cast<size_t>(bytes));
  }
  return normal;
}

}  // namespace cairn
