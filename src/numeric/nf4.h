// NF4, as bitsandbytes writes it (QLoRA, Dettmers et al., 2023): 16 quantiles of a normal
// distribution, scaled to [-1, 1], one code for each element of a block over its largest magnitude.
#pragma once

#include <array>
#include <cstdint>

namespace cairn {

inline constexpr int64_t kNf4Block = 64;      // elements that share one absmax
inline constexpr int64_t kNestedBlock = 256;  // absmax values that share one of the second level

inline constexpr std::array<float, 16> kNf4Table = {-1.0f,
                                                    -0.6961928009986877f,
                                                    -0.5250730514526367f,
                                                    -0.39491748809814453f,
                                                    -0.28444138169288635f,
                                                    -0.18477343022823334f,
                                                    -0.09105003625154495f,
                                                    0.0f,
                                                    0.07958029955625534f,
                                                    0.16093020141124725f,
                                                    0.24611230194568634f,
                                                    0.33791524171829224f,
                                                    0.44070982933044434f,
                                                    0.5626170039176941f,
                                                    0.7229568362236023f,
                                                    1.0f};

// Code n + 1 begins above threshold n; a value on it takes the lower code. The literals of
// bitsandbytes' CUDA kernel.
inline constexpr std::array<float, 15> kNf4Thresholds = {
    -0.8480964004993439f,  -0.6106329262256622f,  -0.4599952697753906f,   -0.33967943489551544f,
    -0.23460740596055984f, -0.13791173323988914f, -0.045525018125772476f, 0.03979014977812767f,
    0.1202552504837513f,   0.2035212516784668f,   0.2920137718319893f,    0.3893125355243683f,
    0.5016634166240692f,   0.6427869200706482f,   0.8614784181118011f};

// The code of a value already divided by its block's absmax.
constexpr uint8_t nf4_code(float scaled) {
  uint8_t code = 0;
  for (const float threshold : kNf4Thresholds) code += scaled > threshold;
  return code;
}

}  // namespace cairn
