"""SmolLM2's tokenizer rebuilt from its GGUF file with Hugging Face's `tokenizers`.

The vocabulary, merges and special tokens come from the file. The pre-tokenizer is the one that the
model was trained with (GGUF name "smollm"): every digit alone, then GPT-2's byte-level pieces.
transformers' own conversion from GGUF leaves out the digit split, so it is not used here.
"""

import gguf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

CONTROL_TOKEN = 3  # gguf's token type of special tokens


def load(gguf_path):
    fields = gguf.GGUFReader(gguf_path).fields
    kind = fields["tokenizer.ggml.pre"].contents()
    if kind != "smollm":
        raise SystemExit(f"{gguf_path}: wanted pre-tokenizer smollm, got {kind}")
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    types = fields["tokenizer.ggml.token_type"].contents()

    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, normalized=False, special=True)
            for token, kind in zip(tokens, types)
            if kind == CONTROL_TOKEN
        ]
    )
    return tokenizer
