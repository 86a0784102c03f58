#include "files/file_type.h"

#include <array>

#include "base/error.h"

namespace cairn {
namespace {

constexpr uint32_t kNotGgml = UINT32_MAX;

// Sources: safetensors tensor.rs (Dtype), ggml.h (ggml_type) and ggml-common.h (block structures).
struct Traits {
  FileType type;
  std::string_view name;
  int64_t elements;  // of a block
  int64_t bytes;     // of a block
  bool safetensors;
  uint32_t ggml;
};

constexpr std::array<Traits, 46> kTraits = {{
    {FileType::f32, "F32", 1, 4, true, 0},
    {FileType::f16, "F16", 1, 2, true, 1},
    {FileType::bf16, "BF16", 1, 2, true, 30},
    {FileType::f64, "F64", 1, 8, true, 28},
    {FileType::q4_0, "Q4_0", 32, 18, false, 2},
    {FileType::q4_1, "Q4_1", 32, 20, false, 3},
    {FileType::q5_0, "Q5_0", 32, 22, false, 6},
    {FileType::q5_1, "Q5_1", 32, 24, false, 7},
    {FileType::q8_0, "Q8_0", 32, 34, false, 8},
    {FileType::q4_k, "Q4_K", 256, 144, false, 12},
    {FileType::q5_k, "Q5_K", 256, 176, false, 13},
    {FileType::q6_k, "Q6_K", 256, 210, false, 14},
    {FileType::boolean, "BOOL", 1, 1, true, kNotGgml},
    {FileType::u8, "U8", 1, 1, true, kNotGgml},
    {FileType::i8, "I8", 1, 1, true, 24},
    {FileType::i16, "I16", 1, 2, true, 25},
    {FileType::u16, "U16", 1, 2, true, kNotGgml},
    {FileType::i32, "I32", 1, 4, true, 26},
    {FileType::u32, "U32", 1, 4, true, kNotGgml},
    {FileType::i64, "I64", 1, 8, true, 27},
    {FileType::u64, "U64", 1, 8, true, kNotGgml},
    {FileType::f8_e4m3, "F8_E4M3", 1, 1, true, kNotGgml},
    {FileType::f8_e4m3fnuz, "F8_E4M3FNUZ", 1, 1, true, kNotGgml},
    {FileType::f8_e5m2, "F8_E5M2", 1, 1, true, kNotGgml},
    {FileType::f8_e5m2fnuz, "F8_E5M2FNUZ", 1, 1, true, kNotGgml},
    {FileType::f8_e8m0, "F8_E8M0", 1, 1, true, kNotGgml},
    {FileType::f6_e2m3, "F6_E2M3", 4, 3, true, kNotGgml},
    {FileType::f6_e3m2, "F6_E3M2", 4, 3, true, kNotGgml},
    {FileType::f4, "F4", 2, 1, true, kNotGgml},
    {FileType::c64, "C64", 1, 8, true, kNotGgml},
    {FileType::q8_1, "Q8_1", 32, 36, false, 9},
    {FileType::q2_k, "Q2_K", 256, 84, false, 10},
    {FileType::q3_k, "Q3_K", 256, 110, false, 11},
    {FileType::q8_k, "Q8_K", 256, 292, false, 15},
    {FileType::iq2_xxs, "IQ2_XXS", 256, 66, false, 16},
    {FileType::iq2_xs, "IQ2_XS", 256, 74, false, 17},
    {FileType::iq3_xxs, "IQ3_XXS", 256, 98, false, 18},
    {FileType::iq1_s, "IQ1_S", 256, 50, false, 19},
    {FileType::iq4_nl, "IQ4_NL", 32, 18, false, 20},
    {FileType::iq3_s, "IQ3_S", 256, 110, false, 21},
    {FileType::iq2_s, "IQ2_S", 256, 82, false, 22},
    {FileType::iq4_xs, "IQ4_XS", 256, 136, false, 23},
    {FileType::iq1_m, "IQ1_M", 256, 56, false, 29},
    {FileType::tq1_0, "TQ1_0", 256, 54, false, 34},
    {FileType::tq2_0, "TQ2_0", 256, 66, false, 35},
    {FileType::mxfp4, "MXFP4", 32, 17, false, 39},
}};

const Traits& traits_of(FileType type) {
  const Traits& traits = kTraits[static_cast<size_t>(type)];
  CAIRN_CHECK(traits.type == type,
              "[file_type] wanted the table in order of the types, got {} at {}", traits.name,
              static_cast<int>(type));
  return traits;
}

}  // namespace

std::string_view name_of(FileType type) { return traits_of(type).name; }
int64_t block_elements(FileType type) { return traits_of(type).elements; }
int64_t block_bytes(FileType type) { return traits_of(type).bytes; }
bool is_readable(FileType type) { return type <= FileType::q6_k; }
bool is_integer(FileType type) { return type >= FileType::boolean && type <= FileType::u64; }

std::optional<FileType> file_type_of_safetensors(std::string_view name) {
  for (const Traits& traits : kTraits)
    if (traits.safetensors && traits.name == name) return traits.type;
  return std::nullopt;
}

std::optional<FileType> file_type_of_ggml(uint32_t id) {
  for (const Traits& traits : kTraits)
    if (id != kNotGgml && traits.ggml == id) return traits.type;
  return std::nullopt;
}

FileType file_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return FileType::f32;
    case DType::bf16:
      return FileType::bf16;
    case DType::f16:
      return FileType::f16;
    case DType::f64:
      return FileType::f64;
    case DType::i32:
      return FileType::i32;
    case DType::u8:
    case DType::u4:
      return FileType::u8;
  }
  return FileType::u8;
}

}  // namespace cairn
