#include "train/sharding/sharding.h"

#include <functional>

#include "base/bytes.h"
#include "base/error.h"
#include "train/sharding/cut_parameters.h"

namespace cairn {
namespace {

// Starts transfers of at most `bucket` elements each, or of one tensor, and waits for all.
class Buckets {
 public:
  using Start = std::function<Pending(std::vector<SharedPart>)>;
  Buckets(int64_t bucket, Start start) : bucket_(bucket), start_(std::move(start)) {}

  void add(SharedPart part) {
    if (elements_ > 0 && elements_ + part.whole.rows() > bucket_) flush();
    elements_ += part.whole.rows();
    parts_.push_back(std::move(part));
  }
  void finish() {
    flush();
    for (Pending& pending : started_) pending.wait();
  }

 private:
  void flush() {
    if (parts_.empty()) return;
    started_.push_back(start_(std::move(parts_)));
    parts_.clear();
    elements_ = 0;
  }

  int64_t bucket_;
  Start start_;
  int64_t elements_ = 0;
  std::vector<SharedPart> parts_;
  std::vector<Pending> started_;
};

}  // namespace

Sharding::Sharding(const Exec& exec, Model& model, const ShardingSettings& settings,
                   Communicator& ranks)
    : exec_(exec), model_(model), settings_(settings), ranks_(ranks) {
  if (ranks.world_size() == 1) return;
  if (model.spec().unit_gradients)
    throw UserError(
        "optimizer_in_backward updates each unit before other ranks' gradients are there, so it "
        "runs on one rank; leave it out, and use zero_stage: 2 or 3, which keep a share of the "
        "gradients");
  cut_parameters(model, settings, ranks.world());
  if (settings.shares_gradients())
    gradients_ = std::make_unique<SharedGradients>(
        exec, ranks, trained_storage(model.spec().precision), settings.overlap);
  if (settings.shares_weights())
    weights_ = std::make_unique<GatheredWeights>(
        exec, ranks, model.weight_units(), settings.overlap && settings.prefetch_elements > 0);
}

void Sharding::allocate() {
  if (weights_) weights_->read_beside(model_.streamed());
  const int64_t bytes = ranks_.scratch_bytes();
  if (bytes == 0) return;
  scratch_ = exec_.make(Account::workspace, "transfers", DType::u8, {bytes});
  ranks_.lend_scratch(scratch_.view());
}

void Sharding::finish_pass() {
  if (gradients_) gradients_->finish();
}

void Sharding::reduce_gradients() {
  if (ranks_.world_size() == 1 || gradients_) return;
  exec_.backend.device().wait(exec_.stream);
  const bool scatters = settings_.shares_states();
  Buckets buckets(settings_.reduce_bucket, [&](std::vector<SharedPart> parts) {
    return scatters ? ranks_.start_reduce_scatter(std::move(parts))
                    : ranks_.start_all_reduce(std::move(parts));
  });
  for (Parameter& parameter : model_.parameters()) {
    if (!parameter.trainable) continue;
    const int64_t share =
        scatters ? parameter.cut.share : ceil_div(parameter.elements(), ranks_.world_size());
    buckets.add(share_in_place(parameter.gradient.view(), share, ranks_.rank()));
  }
  buckets.finish();
}

void Sharding::complete_squares(std::span<double> squares) {
  if (settings_.shares_states()) sum(squares);
}

void Sharding::spread_weights() {
  if (ranks_.world_size() == 1 || !settings_.shares_states()) return;
  exec_.backend.device().wait(exec_.stream);
  Buckets buckets(settings_.gather_bucket, [&](std::vector<SharedPart> parts) {
    return ranks_.start_all_gather(std::move(parts));
  });
  for (Parameter& parameter : model_.parameters())
    if (parameter.cut.states && !parameter.cut.value)
      buckets.add(share_in_place(parameter.value, parameter.cut.share, ranks_.rank()));
  buckets.finish();
}

void Sharding::sum(std::span<double> numbers) {
  if (ranks_.world_size() > 1) ranks_.sum(numbers);
}

void Sharding::complete_absmax(const Parameter& parameter, View absmax) {
  exec_.backend.device().wait(exec_.stream);
  ranks_
      .start_all_gather(
          {share_in_place(absmax, parameter.cut.share / parameter.quant.block, ranks_.rank())})
      .wait();
}

// Rank 0 writes.
ConstView Sharding::fetch(Parameter& parameter, int64_t begin, int64_t count, View room) {
  const auto owner = static_cast<int>(begin / parameter.cut.share);
  const bool mine = owner == ranks_.rank();
  const View values =
      mine ? parameter.view_own_value().view_rows(begin - parameter.cut.first, count) : room;
  exec_.backend.device().wait(exec_.stream);
  if (owner != 0) ranks_.start_send(values, owner, 0).wait();
  return values;
}

}  // namespace cairn
