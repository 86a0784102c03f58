// The tables of keys as a page for people: what LLaMA-Factory's and DeepSpeed's keys do here. The
// page docs/from_llama_factory.md is this text.
#pragma once

#include <string>

namespace cairn {

std::string key_tables_markdown();

}  // namespace cairn
