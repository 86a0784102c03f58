"""What the golden scripts ask of PyTorch: logits, the loss of a batch, AdamW steps, and names and sums of
tensors. Every sequence runs alone, so nothing here pads."""

import torch

LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
STEPS = 3


def logits_of(model, ids):
    with torch.no_grad():
        return [model(input_ids=i[None], use_cache=False).logits[0] for i in ids]


def loss_of(model, ids, labels):
    """Cross-entropy summed over all labelled tokens of all sequences, divided by their number."""
    count = sum(int((l[1:] != -100).sum()) for l in labels)
    total = 0.0
    for i, l in zip(ids, labels):
        # transformers' own loss, told the count of the whole batch as Trainer tells it
        out = model(input_ids=i[None], labels=l[None], num_items_in_batch=count, use_cache=False)
        total = total + out.loss
    return total, count


def train(model, ids, labels, learning_rate, weight_decay, decay_names):
    """STEPS steps of AdamW on one batch; losses and gradient norms of each."""
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        [
            dict(params=[p for n, p in named if n in decay_names], weight_decay=weight_decay),
            dict(params=[p for n, p in named if n not in decay_names], weight_decay=0.0),
        ],
        lr=learning_rate,
        betas=(0.9, 0.999),
        eps=1e-8,
        foreach=False,
    )
    losses, norms = [], []
    for _ in range(STEPS):
        loss, _ = loss_of(model, ids, labels)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_([p for _, p in named], 1.0).item())
        losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    losses.append(loss_of(model, ids, labels)[0].item())
    return losses, norms


def checks(tensor):
    """Sums that tell a whole tensor apart: plain, of squares, and weighted by a running index."""
    flat = tensor.detach().double().flatten()
    weights = (torch.arange(flat.numel(), dtype=torch.float64) % 97) / 97
    return dict(
        shape=list(tensor.shape),
        sum=flat.sum().item(),
        sum_of_squares=flat.square().sum().item(),
        weighted_sum=(flat * weights).sum().item(),
    )


def trainable_gradients(model, rename=lambda n: n):
    return {
        rename(n): p.grad.detach().clone().contiguous()
        for n, p in model.named_parameters()
        if p.requires_grad
    }


def peft_name(name):
    return name.replace(".default.", ".")  # peft leaves the adapter's name out of the file
