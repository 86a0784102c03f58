// cairn calibrate: measures what this machine does a second, and stores it for the plans to come.
#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "bench_paging.h"
#include "commands.h"
#include "files/page_file.h"
#include "gemm_probe.h"
#include "machine_rates.h"
#include "median.h"
#include "ops/adamw.h"
#include "ops/swiglu.h"
#include "run_in_arena.h"
#include "streams.h"

namespace cairn::program {
namespace {

constexpr int kRuns = 9;
constexpr int kBeside = 24;  // products beside the page file
constexpr int64_t kPiece = 16 * kMiB;
constexpr int64_t kPieces = 32;

struct Options {
  std::string page_dir = ".";
  int threads = 0;
  bool json = false;
};

double measure_products(Backend& backend) {
  double rate = 0;
  run_in_arena(backend, [&](const Exec& exec, bool real) {
    GemmProbe probe(exec);
    std::vector<double> rates;
    for (int i = 0; i < kRuns; ++i) rates.push_back(probe.run());
    if (real) rate = median(rates);
  });
  return rate;
}

// An update of the optimizer and the gate of an MLP: what an update and a pass do beside products.
double measure_moving(Backend& backend) {
  constexpr int64_t kElements = int64_t{1} << 23;
  double bytes = 0, rate = 0;
  run_in_arena(backend, [&](const Exec& exec, bool real) {
    const auto make = [&](std::string_view label, DType dtype) {
      Tensor tensor = exec.make(Account::workspace, label, dtype, {kElements});
      ops::fill_random(exec, {.scale = 0.01f, .seed = 1}, tensor.view());
      return tensor;
    };
    Tensor gradient = make("gradient", DType::f32), weight = make("weight", DType::f32);
    Tensor m = make("m", DType::f32), v = make("v", DType::f32);
    Tensor gate = make("gate", DType::bf16), up = make("up", DType::bf16);
    Tensor gated = make("gated", DType::bf16);
    ops::fill_zero(exec, v.view());
    AdamW settings;
    settings.learning_rate = 1e-6f;
    settings.bias_correction1 = settings.bias_correction2 = 0.1f;
    const auto move = [&] {
      ops::adamw(exec, settings, gradient.view(), weight.view(), View(), m.view(), v.view());
      ops::swiglu_forward(exec, gate.view(), up.view(), gated.view());
    };
    if (!real) {
      auto& rehearsal = dynamic_cast<RehearsalBackend&>(exec.backend);
      rehearsal.reset_work();
      move();
      bytes = rehearsal.work().bytes_moved;
      return;
    }
    std::vector<double> seconds;
    for (int i = 0; i < kRuns; ++i) seconds.push_back(seconds_of(move));
    rate = bytes / median(seconds);
  });
  return rate;
}

// Writes and reads pieces in turns, one move ahead, until `enough` says so; returns bytes moved.
int64_t page(PageFile& pages, std::byte* memory, const std::function<bool(int64_t)>& enough) {
  int64_t moved = 0;
  PageStore::Ticket before = 0;
  for (int64_t piece = 0; !enough(moved); ++piece, moved += kPiece) {
    const int64_t offset = piece / 2 % kPieces * kPiece;
    const PageStore::Ticket ticket = piece % 2 == 0 ? pages.start_write(offset, memory, kPiece)
                                                    : pages.start_read(offset, memory, kPiece);
    if (piece > 0) pages.wait(before);
    before = ticket;
  }
  if (moved > 0) pages.wait(before);
  return moved;
}

// The page file alone, then beside products: what it takes from them.
void measure_paging(Backend& backend, const std::string& folder, MachineRates& rates) {
  PageFile pages(folder);
  pages.reserve(kPieces * kPiece);
  const auto a_round = [](int64_t moved) { return moved >= 2 * kPieces * kPiece; };
  run_in_arena(backend, [&](const Exec& exec, bool real) {
    Tensor buffer = exec.make(Account::workspace, "buffer", DType::u8, {kPiece + kPageAlignment});
    GemmProbe probe(exec);
    const auto multiply = [&] {
      for (int i = 0; i < kBeside; ++i) probe.run();
    };
    if (!real) {
      multiply();
      return;
    }
    std::byte* const memory = align_to_page(buffer.view().data());
    page(pages, memory, a_round);  // takes the blocks of the file
    int64_t moved = 0;
    const double alone = seconds_of([&] { moved = page(pages, memory, a_round); });
    rates.page_bytes_per_second = static_cast<double>(moved) / alone;

    std::atomic<bool> over = false;
    std::future<int64_t> moves = std::async(std::launch::async, [&] {
      return page(pages, memory, [&](int64_t) { return over.load(); });
    });
    double beside = 0;
    {
      // However the products end, the moves must.
      const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> stop(
          &over, [](std::atomic<bool>* flag) { *flag = true; });
      beside = seconds_of(multiply);
    }
    const auto moved_beside = static_cast<double>(std::max(kPiece, moves.get()));
    const double undisturbed = kBeside * GemmProbe::flops() / rates.gemm_flops;
    rates.page_slowdown = std::max(0.0, beside - undisturbed) / moved_beside;
  });
}

int run_calibrate(const Options& options) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.page_dir, ignored))
    throw UserError(
        fmt::format("--page-dir '{}' is not a folder; give one on the disk that pages will go to",
                    options.page_dir));
  const std::unique_ptr<Backend> backend = open_backend("cpu", options.threads);
  MachineRates rates;
  rates.processor = processor_name();
  rates.threads = backend->profile().threads;
  tell("measuring products, memory and the page file: some seconds, best on an idle machine\n");
  rates.gemm_flops = measure_products(*backend);
  rates.bytes_per_second = measure_moving(*backend);
  measure_paging(*backend, options.page_dir, rates);
  write_rates(rates);
  if (options.json) {
    fmt::print(
        "{}\n",
        nlohmann::ordered_json{{"processor", rates.processor},
                               {"threads", rates.threads},
                               {"gemm_gflops", rates.gemm_flops / 1e9},
                               {"bytes_per_second", rates.bytes_per_second},
                               {"page_bytes_per_second", rates.page_bytes_per_second},
                               {"page_slowdown_seconds_per_gigabyte", rates.page_slowdown * 1e9},
                               {"file", rates_path()}}
            .dump(2));
    return kDone;
  }
  fmt::print(
      "{}, {} threads\n"
      "products         {:8.0f} GFLOP/s\n"
      "memory           {:8.1f} GB/s, of everything that is no product\n"
      "page file        {:8.2f} GB/s, there and back, in {}\n"
      "beside products  {:8.2f} s of computing lost for each GB that pages\n"
      "wrote {}: plan, train, ladder and bench use these rates from here on\n",
      rates.processor, rates.threads, rates.gemm_flops / 1e9, rates.bytes_per_second / 1e9,
      rates.page_bytes_per_second / 1e9, options.page_dir, rates.page_slowdown * 1e9, rates_path());
  return kDone;
}

}  // namespace

Command add_calibrate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--page-dir", options->page_dir, "a folder on the disk that pages will go to");
  app.add_option("--threads", options->threads, "0: all cores");
  app.add_flag("--json", options->json, "one JSON object on stdout");
  return [options] { return run_calibrate(*options); };
}

}  // namespace cairn::program
