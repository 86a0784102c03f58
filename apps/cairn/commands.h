// One function a subcommand: it adds its options to the command line and returns what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace cairn::program {

// Returns the exit code of a run that went as asked.
using Command = std::function<int()>;

Command add_plan(CLI::App& app);
Command add_train(CLI::App& app);
Command add_generate(CLI::App& app);
Command add_export(CLI::App& app);
Command add_quantize(CLI::App& app);
Command add_ladder(CLI::App& app);
Command add_calibrate(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_report(CLI::App& app);
Command add_config(CLI::App& app);
Command add_data(CLI::App& app);

// Exit codes, as README has them.
inline constexpr int kDone = 0;
inline constexpr int kOther = 1;
inline constexpr int kWrongInput = 2;
inline constexpr int kDoesNotFit = 3;
inline constexpr int kDamagedFile = 4;
inline constexpr int kPeerFailed = 5;
inline constexpr int kStopped = 75;  // by a signal, with what was trained saved

}  // namespace cairn::program
