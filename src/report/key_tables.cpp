#include "report/key_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "train/deepspeed/deepspeed_key.h"
#include "train/recipe_key.h"

namespace cairn {
namespace {

constexpr std::string_view kHead =
    R"(# From LLaMA-Factory to Cairn

<!-- made by: cairn config --keys markdown -->

A YAML or JSON recipe of LLaMA-Factory's supervised fine-tuning runs unchanged:

| there | here |
| --- | --- |
| `llamafactory-cli train recipe.yaml` | `cairn train recipe.yaml` |
| `llamafactory-cli train recipe.yaml key=value` | `cairn train recipe.yaml key=value` |
| `FORCE_TORCHRUN=1 llamafactory-cli train recipe.yaml` | `mpirun -n N cairn train recipe.yaml` |
| run it and see whether memory suffices | `cairn plan recipe.yaml --budget 24GiB` |

Every key that LLaMA-Factory, the Hugging Face trainer or a DeepSpeed JSON knows is in one of the tables below: it is
**honoured**; or it has **no effect** here, and a run that is given it says why; or it is **refused** with what to use
instead. A key that is in no table is an error that names the nearest one. `cairn config recipe.yaml` prints a recipe as
it is understood.
)";

// A table's cell: no bar may end it, and an empty one stays empty.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string default_of(const RecipeKey& key) {
  if (!key.write) return "";
  const RecipeJson value = key.write(Recipe());
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
}

std::string honoured_table() {
  std::string text, subject;
  for (const RecipeKey& key : recipe_keys()) {
    if (key.standing != Standing::honoured) continue;
    if (key.subject != subject) {
      subject = key.subject;
      text += fmt::format("\n### {}\n\n| key | takes | default |\n| --- | --- | --- |\n", subject);
    }
    text += fmt::format("| `{}` | {} | {} |\n", key.name, cell(key.expected),
                        cell(code(default_of(key))));
  }
  return text;
}

// Keys that share a sentence share a row, in the order of the first.
template <typename Keys, typename NameOf>
std::string reasons_table(const Keys& keys, Standing standing, NameOf&& name_of_key,
                          std::string_view heading) {
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;
  for (const auto& key : keys) {
    if (key.standing != standing) continue;
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const auto& row) { return row.first == key.why; });
    auto& row = same != rows.end() ? *same : rows.emplace_back(key.why, std::vector<std::string>());
    row.second.push_back("`" + name_of_key(key) + "`");
  }
  std::string text = fmt::format("\n| key | {} |\n| --- | --- |\n", heading);
  for (const auto& [why, names] : rows)
    text += fmt::format("| {} | {} |\n", fmt::join(names, ", "), cell(why));
  return text;
}

std::string deepspeed_honoured_table() {
  std::string text = "\n| key | takes |\n| --- | --- |\n";
  for (const deepspeed::Key& key : deepspeed::keys())
    if (key.standing == Standing::honoured)
      text += fmt::format("| `{}` | {} |\n", key.path, cell(key.expected));
  return text;
}

}  // namespace

std::string key_tables_markdown() {
  const auto name = [](const RecipeKey& key) { return key.name; };
  const auto path = [](const deepspeed::Key& key) { return key.path; };
  std::string text(kHead);
  text += "\n## Honoured\n" + honoured_table();
  text += "\n## Without effect\n" +
          reasons_table(recipe_keys(), Standing::no_effect, name, "why nothing changes");
  text +=
      "\n## Refused\n\nA value that asks for what happens anyway, such as `false`, is taken.\n" +
      reasons_table(recipe_keys(), Standing::refused, name, "what to use instead");
  text +=
      "\n## DeepSpeed\n\nThe key `deepspeed` takes the path of a JSON file, the JSON itself, or "
      "base64 of it. Numbers must equal the\nrecipe's where both say something, or be `auto`; one "
      "error lists all that differ. Sizes count elements, and `5e8` is an\ninteger. Keys of "
      "Cairn's own (`zero_stage`, `optimizer_place`, ...) win over the file. Keys that begin with "
      "`_` are\ncomments.\n\n### Honoured there\n" +
      deepspeed_honoured_table() + "\n### Without effect there\n" +
      reasons_table(deepspeed::keys(), Standing::no_effect, path, "why nothing changes") +
      "\n### Refused there\n" +
      reasons_table(deepspeed::keys(), Standing::refused, path, "what to use instead");
  return text;
}

}  // namespace cairn
