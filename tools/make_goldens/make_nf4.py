"""Makes tests/golden/data/nf4: what bitsandbytes makes of a few weights, and two small checkpoints that
transformers quantised with it. Formats: tests/golden/data/README.md.

    python make_nf4.py [OUTPUT_FOLDER]
"""

import pathlib
import shutil
import sys

import torch
from bitsandbytes.functional import create_dynamic_map, dequantize_4bit, get_4bit_type, quantize_4bit
from bitsandbytes.nn import Linear4bit
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

from make_tiny import random_model

BLOCK = 64  # weights of one absmax
NESTED_BLOCK = 256  # absmax values of one nested absmax
TOKENS = 19

CONFIG = dict(
    hidden_size=64,
    # 320 x 64 weights are 320 blocks, which need two nested blocks. Rows are whole blocks: where they
    # are not, bitsandbytes' CPU decoder (0.50.2) takes the absmax of another block.
    intermediate_size=320,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=16,
    vocab_size=192,
    max_position_embeddings=256,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    bos_token_id=1,
    eos_token_id=2,
    tie_word_embeddings=False,
    attn_implementation="eager",
)
MODELS = {
    "tiny_llama_double": dict(bnb_4bit_use_double_quant=True),
    "tiny_llama_skip": dict(
        bnb_4bit_use_double_quant=False,
        # A list given replaces the default one, which has the head only.
        llm_int8_skip_modules=["lm_head", "model.layers.1.mlp.down_proj"],
    ),
    "tiny_llama_fp4": dict(bnb_4bit_quant_type="fp4", bnb_4bit_use_double_quant=True),
    # Codes stored as pairs of bytes that claim to be bfloat16, as FSDP wants them.
    "tiny_llama_storage": dict(bnb_4bit_use_double_quant=True, bnb_4bit_quant_storage=torch.bfloat16),
}


def around(values):
    """Each value with its two neighbours in float32; 1 first, so that absmax is 1 and scaling is exact."""
    low = torch.nextafter(values, torch.full_like(values, -2.0))
    high = torch.nextafter(values, torch.full_like(values, 2.0))
    row = torch.zeros(BLOCK)
    row[0] = 1.0
    row[1 : 1 + 3 * len(values)] = torch.stack([low, values, high], dim=1).flatten()
    return row


def weights():
    generator = torch.Generator().manual_seed(4)

    def normal(*shape, dtype=torch.bfloat16):
        return (0.05 * torch.randn(*shape, generator=generator)).to(dtype)

    zero_block = normal(4, 64)
    zero_block[2] = 0
    table = get_4bit_type("nf4", device="cpu")
    index = torch.arange(64)
    return {
        "normal_96x64": normal(96, 64),
        "normal_96x192": normal(96, 192),  # 288 blocks: two nested blocks
        "float32_24x64": normal(24, 64, dtype=torch.float32),
        "straddling_10x40": normal(10, 40),  # blocks straddle rows; the last one is short (16)
        "odd_5x7": normal(5, 7, dtype=torch.float32),  # 35 weights: half a byte is padding
        "zero_block_4x64": zero_block,  # block 2 is all zero
        "midpoints_1x64": around((table[:-1] + table[1:]) / 2)[None],
        "formula_1x64": (((37 * index) % 64 - 31.5) / 16)[None],
    }


def nearest_dynamic_code(absmax):
    """The 8-bit codes of absmax by the rule of bitsandbytes' CUDA kernels: the nearest entry of the map. Its CPU
    library looks a coarser table up and may land on a neighbour."""
    code = create_dynamic_map()
    offset = absmax.mean()
    padded = torch.zeros(-(-absmax.numel() // NESTED_BLOCK) * NESTED_BLOCK)
    padded[: absmax.numel()] = absmax - offset
    blocks = padded.view(-1, NESTED_BLOCK)
    scaled = blocks / blocks.abs().amax(dim=1, keepdim=True).clamp(min=1e-38)
    bounds = (code[:-1] + code[1:]) / 2
    return torch.bucketize(scaled, bounds).flatten()[: absmax.numel()].to(torch.uint8)


def quantised(name, weight):
    """Everything bitsandbytes says about one weight."""
    wide = weight.float()
    codes, state = quantize_4bit(wide, blocksize=BLOCK, quant_type="nf4", compress_statistics=False)
    nested_codes, nested = quantize_4bit(wide, blocksize=BLOCK, quant_type="nf4", compress_statistics=True)
    assert torch.equal(codes, nested_codes)  # double quantisation touches absmax only
    tensors = {
        f"{name}.weight": weight,
        f"{name}.codes": codes.flatten(),
        f"{name}.absmax": state.absmax,
        f"{name}.nested.absmax": nested.absmax,
        f"{name}.nested.absmax_nearest": nearest_dynamic_code(state.absmax),
        f"{name}.nested.nested_absmax": nested.state2.absmax,
        f"{name}.nested.offset": nested.offset.reshape(1),
        f"{name}.nested.values": dequantize_4bit(codes, nested),
    }
    if weight.numel() <= 96 * 64:  # the large one would only make the file large
        tensors[f"{name}.values"] = dequantize_4bit(codes, state)
    return tensors


def make_blocks(root):
    tensors = {
        "nf4.table": get_4bit_type("nf4", device="cpu"),
        "fp4.table": get_4bit_type("fp4", device="cpu"),
        "dynamic.table": create_dynamic_map(),
    }
    for name, weight in weights().items():
        tensors.update(quantised(name, weight))
    wide = weights()["normal_96x64"].float()
    codes, state = quantize_4bit(wide, blocksize=BLOCK, quant_type="fp4", compress_statistics=False)
    tensors["fp4.codes"] = codes.flatten()  # of normal_96x64.weight
    tensors["fp4.absmax"] = state.absmax
    tensors["fp4.values"] = dequantize_4bit(codes, state)
    save_file({n: t.contiguous().clone() for n, t in tensors.items()}, root / "blocks.safetensors")


def exact_logits(model, ids):
    """Logits with everything float32: the values that the codes stand for are rounded nowhere."""
    for module in model.modules():
        if isinstance(module, Linear4bit):
            module.support_avx512bf16_for_cpu = False  # a path that multiplies in bfloat16
            # The CPU's decoder wants its codes as bytes, whatever they are stored as.
            module.weight.data = module.weight.data.view(torch.uint8).reshape(-1, 1)
    for parameter in model.parameters():
        if parameter.is_floating_point():  # transformers leaves the rest as stored, whatever dtype asks
            parameter.data = parameter.data.float()
    with torch.no_grad():
        return model(input_ids=ids[None], use_cache=False).logits[0].float()


def make_model(name, settings, root, generator):
    folder = root / name
    full = root / "full_precision"
    random_model(LlamaConfig(**CONFIG), generator).save_pretrained(full)
    quantisation = BitsAndBytesConfig(
        **dict(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32) | settings
    )
    # dtype says what the unquantised weights are stored as, and the dtype in each quant_state.
    model = AutoModelForCausalLM.from_pretrained(
        full, quantization_config=quantisation, dtype=torch.bfloat16, device_map="cpu"
    )
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    shutil.rmtree(full)

    ids = torch.randint(0, CONFIG["vocab_size"], (TOKENS,), generator=generator)
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, device_map="cpu", attn_implementation="eager"
    )
    logits = exact_logits(model, ids)

    # Once more without bitsandbytes' linear layer: a plain model that holds the decoded values.
    plain = LlamaForCausalLM(LlamaConfig(**CONFIG)).float()
    state = {}
    for path, module in model.named_modules():
        if isinstance(module, Linear4bit):
            q = module.weight.quant_state
            q.dtype = torch.float32
            state[f"{path}.weight"] = dequantize_4bit(module.weight.data, q)
    for path, parameter in model.named_parameters():
        state.setdefault(path, parameter.data.float())
    plain.load_state_dict(state)
    with torch.no_grad():
        again = plain(input_ids=ids[None], use_cache=False).logits[0]
    print(name, "spread", logits.std().item(), "two ways differ by", (logits - again).abs().max().item())
    assert (logits - again).abs().max() < 1e-4 * logits.std()
    save_file({"ids": ids, "logits": logits.contiguous()}, folder / "golden.safetensors")


def main():
    torch.set_num_threads(1)
    here = pathlib.Path(__file__).resolve().parent
    base = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "../../tests/golden/data"
    root = base / "nf4"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    make_blocks(root)
    generator = torch.Generator().manual_seed(44)
    for name, settings in MODELS.items():
        make_model(name, settings, root, generator)
    for path in root.rglob("*.safetensors"):
        path.chmod(0o644)


if __name__ == "__main__":
    main()
