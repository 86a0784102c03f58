"""Two small tokenizers with the markers of many chat templates, trained on this project's own pages: one
byte-level, one of SentencePiece's kind with byte_fallback. make_tokenizers.py and make_chat_rows.py
hold Cairn to what the Hugging Face library makes of texts with them."""

import json
import pathlib

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/golden/data/chat"
PAGES = ["README.md", "CONTRIBUTING.md", "docs/toolbox/packing.md", "docs/toolbox/qlora.md",
         "docs/toolbox/attention.md", "tests/golden/data/chat/texts.txt"]
SPACE = "\u2581"
VOCABULARY = 900


def train(special: list[str], byte_level: bool) -> dict:
    tokenizer = Tokenizer(models.BPE(unk_token=None if byte_level else "<unk>", fuse_unk=not byte_level,
                                     byte_fallback=not byte_level))
    if byte_level:
        pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                   r"|\s*[\r\n]+|\s+(?!\S)|\s+")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<s>", "</s>"], show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, prepend_scheme="always")
        letters = [f"<0x{byte:02X}>" for byte in range(256)]
        trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<unk>", "<s>", "</s>"] + letters,
                                      limit_alphabet=90, show_progress=False)
    tokenizer.train([str(ROOT / page) for page in PAGES], trainer)
    description = json.loads(tokenizer.to_str())
    # Bytes are tokens of the vocabulary, not added ones.
    description["added_tokens"] = [token for token in description["added_tokens"]
                                   if not token["content"].startswith("<0x")]
    known = {token["content"] for token in description["added_tokens"]}
    next_id = max(description["model"]["vocab"].values()) + 1
    for text in special:
        if text in known:
            continue
        description["added_tokens"].append({"id": next_id, "content": text, "single_word": False, "lstrip": False,
                                            "rstrip": False, "normalized": False, "special": True})
        next_id += 1
    if not byte_level:
        # As Llama 2's tokenizer.json: the mark before every text between added tokens.
        description["pre_tokenizer"] = None
        description["normalizer"] = {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": SPACE},
            {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]}
        description["decoder"] = {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    return description


def write(special: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, byte_level in (("byte_level", True), ("sentencepiece", False)):
        text = json.dumps(train(special, byte_level), ensure_ascii=False, separators=(",", ":"))
        (FOLDER / f"{name}_tokenizer.json").write_text(text + "\n")


def read(name: str) -> dict:
    return json.loads((FOLDER / f"{name}_tokenizer.json").read_text())
