"""Token ids of many texts under two small tokenizers and variants of them, by the Hugging Face library.

Writes tests/golden/data/chat/{byte_level,sentencepiece}_tokenizer.json (only with --train) and
tests/golden/data/tokenizers.json. A variant is a JSON merge patch on one of the two."""

import copy
import json
import sys

import small_tokenizers
from tokenizers import Tokenizer

TEXTS = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n\n", "\t\n", "Hello, world!", " Hello World!", "Hello  world", "   Hello",
    "    Hello\n    Hello\n", "hello\r\nworld\r\n", "don't I'LL we've They'RE", "3333 12345678 3.14159 1,000,000",
    "Äpfel naïve café Straße e\u0301", "日本語の文章と漢字。한국어 文字", "👋🏽 family 👩‍👩‍👧‍👦 🦙", "a\u00a0b\u2009c\u3000d\u2028e\u0085f",
    "ied 4 ½ months", "<s>Hello</s>", " <s> Hello </s> ", "x<|im_start|>user\nhi<|im_end|>\ny", "</s></s>", "<unk>",
    "\u2581under\u2581score", "<0x41> <0x0A>", "weights, gradients; optimizer (activations)?", "UPPER lower MiXeD",
    "zero\u200bwidth\u200djoiner\ufeff", "\x01\x02\x7f", "ſ ﬁ Ⅷ ǅ", "word" * 40, "a" * 100, " \n \n a \t b ",
    "the flag stands alone, or the flags", "-- dash - dash--", "x[INST]y[/INST]z", "e\u0301<|im_end|>e\u0301",
]


def with_token(base: dict, **flags) -> dict:
    """An added token of those flags beside the others."""
    added = copy.deepcopy(base["added_tokens"])
    token = {"id": max(token["id"] for token in added) + 1, "content": "flag", "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": False}
    added.append(token | flags)
    return {"added_tokens": added}


def split(pattern: dict, behavior: str, invert: bool = False) -> dict:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def before_bytes(*steps: dict, use_regex: bool = False) -> dict:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}
    return {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps, byte_level]}}


def metaspace(scheme: str, split_words: bool) -> dict:
    return {"normalizer": None,
            "pre_tokenizer": {"type": "Metaspace", "replacement": small_tokenizers.SPACE, "prepend_scheme": scheme,
                              "split": split_words},
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "ByteFallback"}, {"type": "Metaspace", "replacement": small_tokenizers.SPACE,
                                           "prepend_scheme": scheme, "split": split_words}]}}


def variants() -> list[tuple[str, str, dict]]:
    byte_level, sentencepiece = (small_tokenizers.read(name) for name in ("byte_level", "sentencepiece"))
    pairs = [merge if isinstance(merge, list) else merge.split(" ") for merge in byte_level["model"]["merges"]]
    found = [("as it is", "byte_level", {}), ("as it is", "sentencepiece", {}),
             ("merges as text", "byte_level", {"model": {"merges": [" ".join(pair) for pair in pairs]}}),
             ("ignore_merges", "byte_level", {"model": {"ignore_merges": True}})]
    for flag in ("single_word", "lstrip", "rstrip", "normalized"):
        for name, base in (("byte_level", byte_level), ("sentencepiece", sentencepiece)):
            found.append((flag, name, with_token(base, **{flag: True})))
    for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase"):
        found.append((form, "byte_level", {"normalizer": {"type": form}}))
    digits = [{"type": "Digits", "individual_digits": alone} for alone in (True, False)]
    found += [("digits alone", "byte_level", before_bytes(digits[0], use_regex=True)),
              ("digits together", "byte_level", before_bytes(digits[1], use_regex=True)),
              ("whitespace", "byte_level", before_bytes({"type": "Whitespace"})),
              ("whitespace split", "byte_level", before_bytes({"type": "WhitespaceSplit"})),
              ("punctuation", "byte_level", before_bytes({"type": "Punctuation", "behavior": "Isolated"}))]
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        found.append((f"split {behavior}", "byte_level", before_bytes(split({"String": "-"}, behavior))))
        found.append((f"split inverted {behavior}", "byte_level",
                      before_bytes(split({"Regex": "[a-z]+"}, behavior, invert=True))))
    for scheme in ("always", "first", "never"):
        for split_words in (True, False):
            found.append((f"metaspace {scheme} {split_words}", "sentencepiece", metaspace(scheme, split_words)))
    found.append(("no space before", "sentencepiece", {
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": small_tokenizers.SPACE},
        "pre_tokenizer": split({"String": " "}, "MergedWithPrevious"),
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": small_tokenizers.SPACE}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}]}}))
    found.append(("no bytes", "sentencepiece", {"model": {"byte_fallback": False}}))
    found.append(("unknown apart", "sentencepiece", {"model": {"byte_fallback": False, "fuse_unk": False}}))
    return found


def merged(base: dict, patch: dict) -> dict:
    """RFC 7396, but null is a value: tokenizer.json has no use for removing a key."""
    result = dict(base)
    for key, value in patch.items():
        result[key] = merged(result[key], value) if isinstance(value, dict) and isinstance(
            result.get(key), dict) and key == "model" else value
    return result


def main() -> None:
    if "--train" in sys.argv:
        import chat_markers
        small_tokenizers.write(chat_markers.all_markers())
    golden = {"texts": TEXTS, "variants": []}
    for title, name, patch in variants():
        tokenizer = Tokenizer.from_str(json.dumps(merged(small_tokenizers.read(name), patch)))
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
        golden["variants"].append({
            "title": title, "base": name, "patch": patch, "ids": ids,
            "decoded": [tokenizer.decode(one, skip_special_tokens=False) for one in ids]})
    path = small_tokenizers.ROOT / "tests/golden/data/tokenizers.json"
    path.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(len(golden["variants"]), "variants,", len(TEXTS), "texts,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
