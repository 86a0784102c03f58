// The rates of this machine as `cairn calibrate` measured and stored them. They decide what a plan
// says of time, and with it what `auto` takes for the fastest; never what a run allocates.
#pragma once

#include <optional>
#include <string>

#include "backend/target_profile.h"

namespace cairn::program {

struct MachineRates {
  std::string processor;  // that they were measured on
  int threads = 0;
  double gemm_flops = 0;             // a second, by all threads
  double bytes_per_second = 0;       // moved by everything that is no product
  double page_bytes_per_second = 0;  // to and from the page file
  double page_slowdown = 0;          // seconds that a byte moved there takes from computing
};

// CAIRN_RATES if it is set, else cairn/rates.json in XDG_CACHE_HOME or ~/.cache.
std::string rates_path();
std::string processor_name();

void write_rates(const MachineRates& rates);
// None if nothing is stored, or it was measured on another processor. Throws DamagedFile.
std::optional<MachineRates> read_rates();

// The profile with the stored rates in it, shared out to its number of threads; as it is if none
// are stored.
TargetProfile with_stored_rates(TargetProfile profile);

}  // namespace cairn::program
