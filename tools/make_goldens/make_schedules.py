"""Makes tests/golden/data/schedules.json: the learning rates of transformers' schedulers.

    python make_schedules.py [OUTPUT_FOLDER]
"""

import json
import math
import pathlib
import sys

import torch
from transformers import get_scheduler

PEAK = 1e-3
STEPS = 20


def rates(kind, warmup):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    scheduler = get_scheduler(kind, optimizer, num_warmup_steps=warmup, num_training_steps=STEPS)
    seen = []
    for _ in range(STEPS + 1):  # one past the end: the rate that the schedule comes to rest at
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return seen


def main():
    here = pathlib.Path(__file__).resolve().parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "../../tests/golden/data"
    warmups = {0.0: 0, 0.05: math.ceil(0.05 * STEPS), 0.12: math.ceil(0.12 * STEPS), 0.25: 5}
    cases = [
        dict(
            lr_scheduler_type=kind,
            warmup_ratio=ratio,
            warmup_steps=steps,
            learning_rate=PEAK,
            total_steps=STEPS,
            rates=rates(kind, steps),
        )
        for kind in ("linear", "cosine", "constant", "constant_with_warmup")
        for ratio, steps in warmups.items()
    ]
    text = ",\n".join(json.dumps(case) for case in cases)
    (root / "schedules.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
