// What two runs left in their folders, for comparing one with the other.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cairn::test {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The lines of a trainer_log.jsonl without what a clock decides.
inline std::vector<std::string> log_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (record.is_discarded()) {
      lines.push_back("not JSON: " + line);
      continue;
    }
    for (const char* key : {"elapsed_time", "remaining_time", "throughput"}) record.erase(key);
    lines.push_back(record.dump());
  }
  return lines;
}

// Names of the checkpoints in a folder, by step.
inline std::vector<std::string> checkpoints_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-")) names.push_back(name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

// What of a checkpoint decides how a run goes on, every byte of it.
inline std::string state_of(const std::filesystem::path& checkpoint) {
  std::vector<std::filesystem::path> states;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoint))
    if (entry.path().filename().string().starts_with("states-")) states.push_back(entry.path());
  std::sort(states.begin(), states.end());
  std::string text;
  for (const std::filesystem::path& file : states) text += text_of(file);
  for (const std::string& line : log_of(checkpoint / "trainer_log.jsonl")) text += line + "\n";
  text += text_of(checkpoint / "progress.json");
  nlohmann::json state =
      nlohmann::json::parse(text_of(checkpoint / "trainer_state.json"), nullptr, false);
  if (state.is_object()) state.erase("seconds");
  return text + state.dump();
}

}  // namespace cairn::test
