// oneDNN's matmul with the scratchpad in our hands. Primitives are kept per exact shape: one is
// built when a shape is first met (in the warm-up) and only run afterwards.
#include "backend/cpu/gemm/onednn.h"

#include <omp.h>

#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"

namespace cairn::cpu {
namespace {

using dnnl::memory;

constexpr int64_t kAlignment = 64;

// OpenMP's team size for a scope: oneDNN asks for it both when it plans and when it runs.
class TeamOf {
 public:
  explicit TeamOf(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~TeamOf() { omp_set_num_threads(before_); }
  TeamOf(const TeamOf&) = delete;
  TeamOf& operator=(const TeamOf&) = delete;

 private:
  int before_;
};

// [rows, columns], stored row by row or, if transposed, column by column.
memory::desc describe(DType dtype, int64_t rows, int64_t columns, bool transposed) {
  const auto type = dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const memory::dims strides = transposed ? memory::dims{1, rows} : memory::dims{columns, 1};
  return {memory::dims{rows, columns}, type, strides};
}

// Everything a primitive is built from.
struct Key {
  int64_t m, n, k;
  DType operands, c;
  bool transpose_a, transpose_b, add_to_c, residual, bias;
  DType bias_type;
  int threads;
  auto operator<=>(const Key&) const = default;

  memory::desc a() const { return describe(operands, m, k, transpose_a); }
  memory::desc b() const { return describe(operands, k, n, transpose_b); }
  memory::desc out() const { return describe(c, m, n, false); }
  memory::desc added() const { return residual ? out() : describe(bias_type, 1, n, false); }
};

Key key_of(const Gemm& gemm, int threads) {
  return {.m = gemm.c.shape()[0],
          .n = gemm.c.shape()[1],
          .k = gemm.transpose_a ? gemm.a.shape()[0] : gemm.a.shape()[1],
          .operands = gemm.a.dtype(),
          .c = gemm.c.dtype(),
          .transpose_a = gemm.transpose_a,
          .transpose_b = gemm.transpose_b,
          .add_to_c = gemm.beta != 0,
          .residual = bool{gemm.residual},
          .bias = bool{gemm.bias},
          .bias_type = gemm.bias.dtype(),
          .threads = threads};
}

struct Primitive {
  dnnl::matmul matmul;
  memory::desc scratchpad;
};

Primitive build(const Key& key, const dnnl::engine& engine) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops epilogue;
  if (key.add_to_c) epilogue.append_sum(1.0f);
  if (key.residual || key.bias) epilogue.append_binary(dnnl::algorithm::binary_add, key.added());
  attributes.set_post_ops(epilogue);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc description(engine, key.a(), key.b(), key.out(), attributes);
#else
  const dnnl::matmul::primitive_desc description({key.a(), key.b(), key.out()}, attributes, engine);
#endif
  return {dnnl::matmul(description), description.scratchpad_desc()};
}

// Primitives by shape. Entries are never moved or dropped, so a reference stays good.
class Primitives {
 public:
  const Primitive& find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = built_.find(key);
    if (found != built_.end()) return found->second;
    const TeamOf team(key.threads);
    return built_.emplace(key, build(key, engine_)).first->second;
  }
  const dnnl::engine& engine() const { return engine_; }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  std::mutex mutex_;
  std::map<Key, Primitive> built_;
};

// Holds results of building only: which products ran before never changes what one computes.
Primitives& primitives() {
  static Primitives kept;
  return kept;
}

}  // namespace

bool onednn_has_fast_bf16() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
#if DNNL_VERSION_MAJOR >= 3
  return isa == dnnl::cpu_isa::avx512_core_amx || isa == dnnl::cpu_isa::avx512_core_amx_fp16;
#else
  return isa == dnnl::cpu_isa::avx512_core_amx;
#endif
}

void hold_onednn_to_avx2() { dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2); }

bool onednn_takes(const Gemm& gemm) {
  return gemm.c.elements() > 0 && gemm.a.elements() > 0 && gemm.fold.scale == 0 &&
         gemm.alpha == 1 && gemm.a.dtype() == gemm.b.dtype() &&
         (gemm.a.dtype() == DType::bf16 || gemm.c.dtype() == DType::f32);
}

int64_t onednn_gemm_scratch_bytes(const Gemm& gemm, int threads) {
  const Primitive& primitive = primitives().find(key_of(gemm, threads));
  return kAlignment + static_cast<int64_t>(primitive.scratchpad.get_size());
}

void onednn_gemm(const Gemm& gemm, int threads, std::byte* scratch) {
  const Key key = key_of(gemm, threads);
  const Primitive& primitive = primitives().find(key);
  const dnnl::engine& engine = primitives().engine();
  const TeamOf team(threads);
  const auto wrap = [&](const memory::desc& description, const std::byte* data) {
    return memory(description, engine, const_cast<std::byte*>(data));
  };
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(scratch));
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, wrap(key.a(), gemm.a.data())},
      {DNNL_ARG_WEIGHTS, wrap(key.b(), gemm.b.data())},
      {DNNL_ARG_DST, wrap(key.out(), gemm.c.data())},
      {DNNL_ARG_SCRATCHPAD,
       wrap(primitive.scratchpad, scratch + round_up(address, kAlignment) - address)}};
  if (key.residual || key.bias)
    arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                      wrap(key.added(), key.residual ? gemm.residual.data() : gemm.bias.data()));
  dnnl::stream stream(engine);
  primitive.matmul.execute(stream, arguments);
  stream.wait();
}

}  // namespace cairn::cpu
