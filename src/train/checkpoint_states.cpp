#include "train/checkpoint_states.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "ops/moving.h"
#include "train/optimizers/piece_states.h"

namespace cairn {
namespace {

// On its way between a disk and a device.
constexpr int64_t kStagedBytes = 4 * kStateStretch;

// A name of one of a state's two tensors in 8 bits.
std::string codes_of(std::string_view state) { return std::string(state) + "_codes"; }
std::string scales_of(std::string_view state) { return std::string(state) + "_scales"; }

View weight_of(const Optimizer::Piece& piece) {
  Parameter& parameter = *piece.parameter;
  return parameter.view_own_value().view_rows(piece.first - parameter.own_first(),
                                              piece.shape.elements);
}

// What is held of a piece: one tensor of the file, from element `first` of the state on.
struct Held {
  std::string state;
  View view;
  int64_t first = 0;
};

// Of a state that begins at element `first` of its parameter.
std::vector<Held> held_of(const PieceState& state, int64_t first) {
  if (state.floats) return {{std::string(state.name), state.floats, first}};
  if (!state.exists()) return {};
  return {{codes_of(state.name), state.codes.codes, first},
          {scales_of(state.name), state.codes.scales, first / kCodedBlock}};
}

std::vector<Held> held_of(const Optimizer::Piece& piece, const StateViews& views) {
  std::vector<Held> all = {{"weight", weight_of(piece), piece.first}};
  for (const PieceState& state : states_of(views))
    for (Held& held : held_of(state, piece.first)) all.push_back(std::move(held));
  return all;
}

// Pieces of one parameter that follow one another are one section of the file. Told every piece in
// order, it says where the section begins that the piece is of.
class Sections {
 public:
  int64_t begin_of(const Optimizer::Piece& piece) {
    if (piece.parameter != parameter_ || piece.first != end_) begin_ = piece.first;
    parameter_ = piece.parameter;
    end_ = piece.first + piece.shape.elements;
    return begin_;
  }

 private:
  const Parameter* parameter_ = nullptr;
  int64_t begin_ = 0, end_ = 0;
};

std::string name_in_file(const Optimizer::Piece& piece, const Held& held, int64_t section_begin) {
  const int64_t before = piece.first - section_begin;  // elements of the section
  const bool scales = held.state.ends_with("_scales");
  return section_name(piece.parameter->name, held.state,
                      held.first - (scales ? before / kCodedBlock : before));
}

std::vector<TensorSpec> list_sections(const Optimizer& optimizer) {
  std::vector<TensorSpec> specs;
  std::unordered_map<std::string, size_t> index;
  Sections sections;
  // Addresses that nothing touches: only kinds and sizes are wanted.
  alignas(64) static std::byte nowhere[1];
  for (const Optimizer::Piece& piece : optimizer.pieces()) {
    if (piece.shape.elements == 0) continue;
    const int64_t begin = sections.begin_of(piece);
    for (const Held& held : held_of(piece, piece.shape.view(nowhere))) {
      const std::string name = name_in_file(piece, held, begin);
      const auto [found, is_new] = index.emplace(name, specs.size());
      if (is_new) specs.push_back({name, file_type_of(held.view.dtype()), Shape{0}});
      Shape& shape = specs[found->second].shape;
      shape = {shape.elements() + held.view.elements()};
    }
  }
  return specs;
}

// A room on the host that bytes of a device pass through.
class Staging {
 public:
  explicit Staging(const Exec& exec)
      : exec_(exec), room_(exec.make_scratch("states on their way", kStagedBytes)) {}

  template <typename Sink>
  void bring_out(ConstView view, const Sink& sink) {
    for (int64_t at = 0; at < view.bytes(); at += kStagedBytes) {
      const int64_t count = std::min(kStagedBytes, view.bytes() - at);
      exec_.backend.device().copy_to_host(exec_.stream, view.data() + at, data(), count);
      exec_.backend.device().wait(exec_.stream);
      sink(std::span<const std::byte>(data(), static_cast<size_t>(count)));
    }
  }
  // `fill` writes the bytes from `at` on.
  template <typename Fill>
  void bring_in(View view, const Fill& fill) {
    for (int64_t at = 0; at < view.bytes(); at += kStagedBytes) {
      const int64_t count = std::min(kStagedBytes, view.bytes() - at);
      fill(at, std::span<std::byte>(data(), static_cast<size_t>(count)));
      exec_.backend.device().copy_to_device(exec_.stream, data(), view.data() + at, count);
      exec_.backend.device().wait(exec_.stream);
    }
  }

 private:
  std::byte* data() { return room_.view().data(); }
  const Exec& exec_;
  Tensor room_;
};

// Reads states of any coding into those of a piece.
class Restorer {
 public:
  Restorer(const Exec& exec, const StateFiles* files)
      : exec_(exec),
        files_(files),
        staging_(exec),
        stored_(exec.make_scratch("stored states", 2 * kStateStretch)),
        values_(exec.make(Account::workspace, "states in f32", DType::f32, {kStateStretch})) {}

  void restore(const Optimizer::Piece& piece, const StateViews& views) {
    const std::string& name = piece.parameter->name;
    bring_in(piece, "weight", piece.first, weight_of(piece));
    for (const PieceState& state : states_of(views)) {
      if (!state.exists()) continue;
      if (is_stored_as(name, state)) {
        for (const Held& held : held_of(state, piece.first))
          bring_in(piece, held.state, held.first, held.view);
      } else {
        recode(piece, state);
      }
    }
  }
  // The codings that were read, where they were not the optimizer's own.
  const std::string& coding_before() const { return coding_before_; }

 private:
  bool is_stored_as(const std::string& parameter, const PieceState& state) const {
    if (!state.floats) return files_->type_of(parameter, codes_of(state.name)).has_value();
    return files_->type_of(parameter, state.name) == file_type_of(state.floats.dtype());
  }

  // Bytes as they lie.
  void bring_in(const Optimizer::Piece& piece, const std::string& state, int64_t first, View view) {
    const std::string& name = piece.parameter->name;
    const bool scales = state.ends_with("_scales");
    const int64_t all =
        scales ? ceil_div(piece.parameter->elements(), kCodedBlock) : piece.parameter->elements();
    const auto type = files_->type_of(name, state);
    if (!type || *type != file_type_of(view.dtype()) || files_->elements_of(name, state) != all)
      throw DamagedFile(fmt::format("{} lacks the state '{}' of '{}' in {} elements of {}",
                                    files_->folder(), state, name, all, name_of(view.dtype())));
    const int64_t size = size_of(view.dtype());
    staging_.bring_in(view, [&](int64_t at, std::span<std::byte> bytes) {
      files_->read(name, state, first + at / size, static_cast<int64_t>(bytes.size()) / size,
                   bytes);
    });
  }

  void recode(const Optimizer::Piece& piece, const PieceState& state) {
    const std::string& name = piece.parameter->name;
    const bool coded = files_->type_of(name, codes_of(state.name)).has_value();
    const bool is_bf16 = files_->type_of(name, state.name) == FileType::bf16;
    for (int64_t at = 0; at < piece.shape.elements; at += kStateStretch) {
      const int64_t count = std::min(kStateStretch, piece.shape.elements - at);
      const int64_t first = piece.first + at;
      const View values = values_.view_rows(count);
      PieceState stored{state.name, {}, {}, state.is_signed};
      if (coded) {
        const int64_t blocks = ceil_div(count, kCodedBlock);
        std::byte* const room = stored_.view().data();
        stored.codes.scales = View(room, DType::f32, {blocks});
        stored.codes.codes = View(room + blocks * size_of(DType::f32), DType::u8, {count});
        bring_in(piece, codes_of(state.name), first, stored.codes.codes);
        bring_in(piece, scales_of(state.name), first / kCodedBlock, stored.codes.scales);
      } else {
        stored.floats = is_bf16 ? View(stored_.view().data(), DType::bf16, {count}) : values;
        bring_in(piece, std::string(state.name), first, stored.floats);
      }
      if (coded || is_bf16) stored.decode(exec_, 0, values);
      state.encode(exec_, at, values);
    }
    coding_before_ = name_of(coded     ? StateCoding::blocks_8bit
                             : is_bf16 ? StateCoding::bf16
                                       : StateCoding::f32);
  }

  const Exec& exec_;
  const StateFiles* files_;
  Staging staging_;
  Tensor stored_, values_;
  std::string coding_before_;
};

}  // namespace

void write_states(const Exec& exec, Optimizer& optimizer, const std::string* path) {
  Staging staging(exec);
  if (!path) return optimizer.take_visiting_room(exec);
  SafetensorsWriter writer(*path, list_sections(optimizer), {{"format", "cairn states"}});
  Sections sections;
  optimizer.visit(exec, false, [&](const Optimizer::Piece& piece, const StateViews& views) {
    if (piece.shape.elements == 0) return;
    const int64_t begin = sections.begin_of(piece);
    for (const Held& held : held_of(piece, views))
      staging.bring_out(held.view, [&, name = name_in_file(piece, held, begin)](auto bytes) {
        writer.append(name, bytes);
      });
  });
  writer.finish();
}

std::string read_states(const Exec& exec, Optimizer& optimizer, const StateFiles* files) {
  Restorer restorer(exec, files);
  if (!files) {
    optimizer.take_visiting_room(exec);
    return "";
  }
  optimizer.visit(exec, true, [&](const Optimizer::Piece& piece, const StateViews& views) {
    if (piece.shape.elements > 0) restorer.restore(piece, views);
  });
  if (restorer.coding_before().empty()) return "";
  return fmt::format("the optimizer's states were in {} and are in {} from here on",
                     restorer.coding_before(), name_of(optimizer.coding()));
}

}  // namespace cairn
