#include "machine_rates.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "comm/registry.h"
#include "files/folder_entries.h"
#include "files/json_file.h"
#include "recipe_arguments.h"

namespace cairn::program {
namespace {

// Empty counts as not set, as the XDG rules have it.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

double read_number(const nlohmann::json& json, const char* key, const std::string& path) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number() || !(found->get<double>() >= 0))
    throw DamagedFile(fmt::format(
        "{}: '{}' is not a number from 0 on; run cairn calibrate again, or remove the file", path,
        key));
  return found->get<double>();
}

}  // namespace

std::string rates_path() {
  if (const std::string path = environment("CAIRN_RATES"); !path.empty()) return path;
  std::string folder = environment("XDG_CACHE_HOME");
  if (folder.empty()) folder = environment("HOME") + "/.cache";
  return folder + "/cairn/rates.json";
}

std::string processor_name() {
  // Of a machine that is held to less, the rates are others.
  const std::string held = environment("CAIRN_SIMD");
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with("model name") && colon + 2 < line.size())
      return line.substr(colon + 2) + (held.empty() ? "" : " held to " + held);
  }
  return "unknown";
}

void write_rates(const MachineRates& rates) {
  const std::filesystem::path path = rates_path();
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  write_json(path, {{"processor", rates.processor},
                    {"threads", rates.threads},
                    {"gemm_flops", rates.gemm_flops},
                    {"bytes_per_second", rates.bytes_per_second},
                    {"page_bytes_per_second", rates.page_bytes_per_second},
                    {"page_slowdown_seconds_per_byte", rates.page_slowdown}});
}

std::optional<MachineRates> read_rates() {
  const std::string path = rates_path();
  if (!is_there(path)) return std::nullopt;
  const nlohmann::json json = read_json_object(path);
  const auto processor = json.find("processor");
  if (processor == json.end() || *processor != processor_name()) return std::nullopt;
  MachineRates rates;
  rates.processor = *processor;
  rates.threads = static_cast<int>(std::clamp(read_number(json, "threads", path), 1.0, 1e6));
  rates.gemm_flops = read_number(json, "gemm_flops", path);
  rates.bytes_per_second = read_number(json, "bytes_per_second", path);
  rates.page_bytes_per_second = read_number(json, "page_bytes_per_second", path);
  rates.page_slowdown = read_number(json, "page_slowdown_seconds_per_byte", path);
  if (rates.gemm_flops <= 0 || rates.bytes_per_second <= 0 || rates.page_bytes_per_second <= 0)
    throw DamagedFile(
        fmt::format("{}: a rate is 0; run cairn calibrate again, or remove the file", path));
  return rates;
}

TargetProfile with_stored_rates(TargetProfile profile) {
  std::optional<MachineRates> rates;
  try {
    rates = read_rates();
  } catch (const std::runtime_error&) {
    // Times are worth no refusal.
    if (launched_world().rank == 0)
      print_remarks(
          {fmt::format("the rates in {} cannot be read, so times are those of an average "
                       "machine; cairn calibrate measures them anew",
                       rates_path())});
  }
  if (!rates) return profile;
  // Products share the cores; memory and the page file are what all of them share.
  profile.gemm_flops = rates->gemm_flops * profile.threads / rates->threads;
  profile.bytes_per_second = rates->bytes_per_second;
  profile.page_bytes_per_second = rates->page_bytes_per_second;
  profile.page_slowdown = rates->page_slowdown;
  profile.measured = true;
  return profile;
}

}  // namespace cairn::program
