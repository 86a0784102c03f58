"""Token ids and labels of rows under chat templates, by LLaMA-Factory 0.9.5.

Rows of tests/golden/data/chat/ under every template, under options, and as plain texts for
pre-training; with --published FOLDER also the first 200 rows of LLaMA-Factory's own demo data.
Writes tests/golden/data/chat/golden.json and published.json. A row is "COUNT HASH": its tokens, and
the FNV-1a hash of its ids, then its labels; a row that LLaMA-Factory leaves out is "-".

Two things of LLaMA-Factory are held still: the date that the tool format llama3 names, and its
openai reader's habit of adding "detailed thinking off" to the system text, which is meant for one
family of models and is not copied.
"""

import argparse
import copy
import datetime
import json
import os
import pathlib

import chat_markers
import small_tokenizers

# LLaMA-Factory wants an older transformers for models; its data part works with any.
os.environ["DISABLE_VERSION_CHECK"] = "1"
TEMPLATES = chat_markers.import_templates()

from llamafactory.data import tool_utils  # noqa: E402
from llamafactory.data.converter import get_dataset_converter  # noqa: E402
from llamafactory.data.mm_plugin import get_mm_plugin  # noqa: E402
from llamafactory.data.parser import get_dataset_list  # noqa: E402
from llamafactory.data.processor.pretrain import PretrainDatasetProcessor  # noqa: E402
from llamafactory.data.processor.supervised import SupervisedDatasetProcessor  # noqa: E402
from llamafactory.hparams import DataArguments  # noqa: E402
from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast  # noqa: E402


class FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26)


tool_utils.datetime = FixedDate


def row_hash(ids: list[int], labels: list[int]) -> str:
    value = 0xCBF29CE484222325
    for number in [*ids, *labels]:
        for byte in (number & 0xFFFFFFFF).to_bytes(4, "little"):
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{len(ids)} {value:016x}"


def make_tokenizer(name: str, **special) -> PreTrainedTokenizerFast:
    ends = {"bos_token": "<s>", "eos_token": "</s>"} | special
    return PreTrainedTokenizerFast(tokenizer_file=str(small_tokenizers.FOLDER / f"{name}_tokenizer.json"), **ends)


def read_rows(folder, entry, most=None) -> list[dict]:
    path = folder / entry.dataset_name
    if path.suffix == ".txt":
        rows = [{"text": line} for line in path.read_text().splitlines()]
    else:
        rows = json.loads(path.read_text())
    return rows[:most]


def aligned(folder, names: str, arguments: DataArguments, most=None) -> list[dict]:
    examples = []
    for entry in get_dataset_list(names.split(","), str(folder)):
        convert = get_dataset_converter(entry.formatting, entry, arguments)
        for row in read_rows(folder, entry, most):
            example = convert(row)
            if entry.formatting == "openai":
                first = row["messages"][0]
                example["_system"] = first["content"] if first["role"] == "system" else ""
            examples.append(example)
    return examples


def columns_of(examples: list[dict]) -> dict:
    return {key: [example[key] for example in examples] for key in examples[0]}


def conversation_rows(tokenizer_name: str, template_name: str, names: str, folder, most=None, **options) -> list[str]:
    arguments = DataArguments(template=template_name, dataset=names, **options)
    tokenizer = make_tokenizer(tokenizer_name)
    # The registry's rows are changed by options, so each case has its own.
    saved = TEMPLATES.TEMPLATES[template_name]
    TEMPLATES.TEMPLATES[template_name] = copy.copy(saved)
    template = TEMPLATES.get_template_and_fix_tokenizer(tokenizer, arguments)
    TEMPLATES.TEMPLATES[template_name] = saved
    template.mm_plugin = get_mm_plugin("base")  # texts alone
    processor = SupervisedDatasetProcessor(template=template, tokenizer=tokenizer, processor=None,
                                           data_args=arguments)
    rows = []
    for example in aligned(folder, names, arguments, most):
        try:
            encoded = processor.preprocess_dataset(columns_of([example]))
        except (RuntimeError, ValueError) as error:  # calls that the format cannot say
            if "parallel" not in str(error) and "Invalid JSON format" not in str(error):
                raise
            encoded = {"input_ids": []}
        if encoded.get("input_ids"):
            rows.append(row_hash(encoded["input_ids"][0], encoded["labels"][0]))
        else:
            rows.append("-")
    return rows


def document_rows(template_name: str, names: str, folder, special: dict, adds_bos: bool, rows_at_a_time: int,
                  **options) -> list[str]:
    arguments = DataArguments(template=template_name, dataset=names, **options)
    tokenizer = make_tokenizer("sentencepiece", **special)
    template = TEMPLATES.get_template_and_fix_tokenizer(tokenizer, arguments)
    tokenizer.add_bos_token = adds_bos
    processor = PretrainDatasetProcessor(template=template, tokenizer=tokenizer, processor=None, data_args=arguments)
    examples = aligned(folder, names, arguments)
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    rows = []
    for begin in range(0, len(examples), rows_at_a_time):
        encoded = processor.preprocess_dataset(columns_of(examples[begin:begin + rows_at_a_time]))
        for ids in encoded["input_ids"]:
            batch = collate([{"input_ids": ids}])
            rows.append(row_hash(ids, batch["labels"][0].tolist()))
    return rows


def own_cases() -> list[dict]:
    cases = [{"template": name, "tokenizer": "byte_level", "names": "alpaca,sharegpt,parallel,openai"}
             for name in TEMPLATES.TEMPLATES]
    names = "alpaca,sharegpt,openai"
    for template in ("llama2", "mistral", "gemma", "gemma2", "alpaca", "llama3", "qwen3", "chatglm3"):
        cases.append({"template": template, "tokenizer": "sentencepiece", "names": names})
    for options in ({"cutoff_len": 24}, {"cutoff_len": 60}, {"mask_history": True},
                    {"mask_history": True, "cutoff_len": 50}, {"enable_thinking": False}, {"enable_thinking": None},
                    {"mask_history": True, "enable_thinking": None, "preserve_thinking": True},
                    {"default_system": "A default."}, {"tool_format": "glm4"}, {"train_on_prompt": True}):
        for template in ("qwen3", "gemma", "gemma2", "glm4_7"):
            if "train_on_prompt" in options and template in ("gemma2", "glm4_7"):
                continue
            cases.append({"template": template, "tokenizer": "byte_level", "names": names, "options": options})
    for case in cases:
        case["rows"] = conversation_rows(case["tokenizer"], case["template"], case["names"], small_tokenizers.FOLDER,
                                         **case.get("options", {}))
    return cases


def document_cases() -> list[dict]:
    cases = []
    for template in ("empty", "qwen3_nothink", "llama3"):
        for adds_bos in (False, True):
            for special in ({}, {"pad_token": "<unk>"}):
                for packing, rows_at_a_time in ((True, 1000), (True, 3), (False, 1000)):
                    case = {"template": template, "adds_bos": adds_bos, "special": special, "packing": packing,
                            "rows_at_a_time": rows_at_a_time, "cutoff_len": 16}
                    case["rows"] = document_rows(template, "texts", small_tokenizers.FOLDER, special, adds_bos,
                                                 rows_at_a_time, cutoff_len=16, packing=packing)
                    cases.append(case)
    return cases


def published_cases(folder) -> list[dict]:
    cases = []
    for template, tokenizer in (("qwen3_nothink", "byte_level"), ("llama3", "byte_level"), ("chatml", "byte_level"),
                                ("mistral", "sentencepiece"), ("gemma", "sentencepiece")):
        for names in ("alpaca_en_demo", "alpaca_zh_demo", "identity", "glaive_toolcall_en_demo"):
            cases.append({"template": template, "tokenizer": tokenizer, "names": names,
                          "rows": conversation_rows(tokenizer, template, names, folder, most=200)})
    return cases


def write(name: str, golden: dict) -> None:
    path = small_tokenizers.FOLDER / name
    path.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")).replace('{"template"', '\n{"template"')
                    + "\n")
    print(name, path.stat().st_size, "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--published", type=pathlib.Path, help="the folder of LLaMA-Factory's demo data")
    given = parser.parse_args()
    write("golden.json", {"conversations": own_cases(), "documents": document_cases()})
    if given.published:
        write("published.json", {"conversations": published_cases(given.published)})


if __name__ == "__main__":
    main()
