// CheckpointPolicy: what each block keeps of its forward for its backward. A value per block,
// consulted by the block runner alone; and the words in which a recipe asks for one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

enum class Keep : uint8_t {
  everything,   // nothing is computed twice
  selected,     // all but the members that `recomputed` names
  input,        // the block's input only; the block is recomputed
  paged_input,  // the same, moved to the page file until backward comes near
  nothing,      // recomputed together with the blocks before it, from the last input kept
};

// Members of a block that backward can compute again from its other members.
enum class Member : uint8_t { attention_normed, projections, mlp_normed, gate_and_up, gated };

class MemberSet {
 public:
  constexpr MemberSet() = default;
  constexpr MemberSet(std::initializer_list<Member> members) {
    for (Member member : members) insert(member);
  }
  constexpr void insert(Member member) { bits_ |= bit(member); }
  constexpr bool has(Member member) const { return bits_ & bit(member); }
  constexpr bool empty() const { return bits_ == 0; }
  bool operator==(const MemberSet&) const = default;

 private:
  static constexpr uint8_t bit(Member member) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(member));
  }
  uint8_t bits_ = 0;
};

// What costs a pass over memory and no product: cheap on every target.
inline constexpr MemberSet kCheapMembers = {Member::attention_normed, Member::mlp_normed,
                                            Member::gated};

struct BlockPolicy {
  Keep first = Keep::input;              // of the forward pass
  Keep again = Keep::everything;         // of the recomputation of a segment: everything, or input
  MemberSet recomputed = kCheapMembers;  // if something is `selected`
};

// One per block; the first block keeps at least its input.
using CheckpointPolicy = std::vector<BlockPolicy>;

CheckpointPolicy uniform_policy(Keep keep, int64_t num_blocks);

enum class PolicyKind : uint8_t { none, block, every, nested, selective, offload };

// So many blocks treated alike.
struct PolicyTerm {
  PolicyKind kind = PolicyKind::block;
  int64_t segment = 0;  // blocks between two marks (every, nested); 0: the root of their number
  int64_t count = 0;    // blocks; 0: all
  bool operator==(const PolicyTerm&) const = default;
};

// What a recipe asks for: "block", "every:4", "sqrt", or a mix such as "8*block+4*none", in the
// order of the blocks. Empty: auto, the fastest that fits.
struct PolicyChoice {
  std::vector<PolicyTerm> terms = {PolicyTerm{}};

  bool is_auto() const { return terms.empty(); }
  bool uses(PolicyKind kind) const;
  bool operator==(const PolicyChoice&) const = default;
};

// None for text that is no policy.
std::optional<PolicyChoice> parse_policy(std::string_view text);
std::string to_string(const PolicyChoice& choice);
// The words, for errors: "none, block, every:K, ...".
std::string_view policy_words();

// Throws UserError if a mix is not of `num_blocks` blocks. `selected`: what `selective` recomputes.
CheckpointPolicy make_policy(const PolicyChoice& choice, int64_t num_blocks,
                             MemberSet selected = kCheapMembers);

}  // namespace cairn
