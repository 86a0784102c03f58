// Of oneDNN 3's dnnl.hpp, the declarations that Cairn uses, as 3.13 has them: enough to
// compile the branch for version 3 where version 2 is installed. Nothing here is linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#define DNNL_VERSION_MAJOR 3
#define DNNL_ARG_SRC 1
#define DNNL_ARG_SRC_1 2
#define DNNL_ARG_DST 17
#define DNNL_ARG_WEIGHTS 33
#define DNNL_ARG_SCRATCHPAD 80
#define DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) (16384 * ((index) + 1))

namespace dnnl {

enum class scratchpad_mode { library, user };
enum class algorithm { binary_add = 0x1fff0 };
enum class cpu_isa { avx2 = 0x7, avx512_core_amx = 0xfef, avx512_core_amx_fp16 = 0x1fef };
enum class status { success };

status set_max_cpu_isa(cpu_isa isa);
cpu_isa get_effective_cpu_isa();

struct engine {
  enum class kind { any, cpu, gpu };
  engine(kind kind, size_t index);
};

struct stream {
  explicit stream(const engine& engine);
  stream& wait();
};

struct memory {
  using dim = int64_t;
  using dims = std::vector<dim>;
  enum class data_type { undef, f16, bf16, f32 };
  struct desc {
    desc();
    desc(const dims& sizes, data_type type, const dims& strides, bool allow_empty = false);
    size_t get_size() const;
  };
  memory(const desc& description, const engine& engine, void* handle);
};

struct post_ops {
  void append_sum(float scale = 1.0f, int32_t zero_point = 0,
                  memory::data_type type = memory::data_type::undef);
  void append_binary(algorithm what, const memory::desc& source);
};

struct primitive_attr {
  primitive_attr();
  void set_scratchpad_mode(scratchpad_mode mode);
  void set_post_ops(const post_ops ops);
};

struct matmul {
  // Version 2 builds it from a matmul::desc, which is gone.
  struct primitive_desc {
    primitive_desc(const engine& engine, const memory::desc& source, const memory::desc& weights,
                   const memory::desc& destination,
                   const primitive_attr& attributes = primitive_attr(), bool allow_empty = false);
    memory::desc scratchpad_desc() const;
  };
  explicit matmul(const primitive_desc& description);
  void execute(const stream& stream, const std::unordered_map<int, memory>& arguments) const;
};

}  // namespace dnnl
