"""Records what PyTorch's own Transformer gives for weights drawn once: golden/torch.npz.

    python -m venv /tmp/torch && /tmp/torch/bin/pip install torch==2.13.0 numpy
    /tmp/torch/bin/python tests/keras_transformer/layers/golden/record_torch.py

The weights are PyTorch's state_dict under `encoder/` and `decoder/`, norms and biases drawn as well. Outputs
are under `{encoder,decoder}/{pre,post}/{relu,gelu}/{masks}`; pre-norm closes with the final norm, post-norm
has none. In the recorded masks True means *real token*; PyTorch is given their opposite.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn

WIDTH, HEADS, INNER, LAYERS = 8, 2, 12, 2
TARGET_LENGTHS, TARGET = [4, 2, 3], 4
SOURCE_LENGTHS, SOURCE = [5, 3, 1], 5


def stack(kind: str, norm_first: bool, activation: str) -> nn.Module:
    layer_class = nn.TransformerEncoderLayer if kind == "encoder" else nn.TransformerDecoderLayer
    layer = layer_class(
        WIDTH, HEADS, INNER, activation=activation, norm_first=norm_first, batch_first=True, dropout=0.0
    )
    norm = nn.LayerNorm(WIDTH) if norm_first else None
    if kind == "encoder":
        return nn.TransformerEncoder(layer, LAYERS, norm, enable_nested_tensor=False).eval()
    return nn.TransformerDecoder(layer, LAYERS, norm).eval()


def drawn(module: nn.Module) -> dict[str, torch.Tensor]:
    """Kernels, biases and norms all drawn: the zeros and ones they start with prove little."""
    state = module.state_dict()
    for name, value in state.items():
        if "norm" in name and name.endswith("weight"):
            state[name] = 1 + 0.3 * torch.randn_like(value)
        elif name.endswith("bias"):
            state[name] = 0.3 * torch.randn_like(value)
        else:
            state[name] = torch.randn_like(value) * WIDTH**-0.5
    return state


def real(lengths: list[int], length: int) -> torch.Tensor:
    return torch.arange(length) < torch.tensor(lengths)[:, None]


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    target, source = torch.randn(3, TARGET, WIDTH), torch.randn(3, SOURCE, WIDTH)
    target_real, source_real = real(TARGET_LENGTHS, TARGET), real(SOURCE_LENGTHS, SOURCE)
    recorded = {"target": target, "source": source, "target_real": target_real, "source_real": source_real}
    weights = {kind: drawn(stack(kind, True, "relu")) for kind in ("encoder", "decoder")}
    for kind, state in weights.items():
        recorded |= {f"{kind}/{name}": value for name, value in state.items()}

    ahead = {size: torch.triu(torch.ones(size, size, dtype=torch.bool), 1) for size in (SOURCE, TARGET)}
    for norm_first in (True, False):
        for activation in ("relu", "gelu"):
            models = {kind: stack(kind, norm_first, activation) for kind in weights}
            for kind, model in models.items():
                state = {k: v for k, v in weights[kind].items() if norm_first or not k.startswith("norm.")}
                model.load_state_dict(state, strict=True)
            case = f"{'pre' if norm_first else 'post'}/{activation}"
            encoder, decoder = models["encoder"], models["decoder"]
            recorded |= {
                f"encoder/{case}/plain": encoder(source),
                f"encoder/{case}/padded": encoder(source, src_key_padding_mask=~source_real),
                f"encoder/{case}/padded_causal": encoder(
                    source, mask=ahead[SOURCE], src_key_padding_mask=~source_real
                ),
                f"decoder/{case}/plain": decoder(target, source),
                f"decoder/{case}/causal": decoder(target, source, tgt_mask=ahead[TARGET]),
                f"decoder/{case}/padded_causal": decoder(
                    target,
                    source,
                    tgt_mask=ahead[TARGET],
                    tgt_key_padding_mask=~target_real,
                    memory_key_padding_mask=~source_real,
                ),
            }
    path = Path(__file__).with_name("torch.npz")
    np.savez_compressed(path, **{name: value.detach().numpy() for name, value in recorded.items()})
    print(f"{path}: {len(recorded)} arrays, {path.stat().st_size} bytes, torch {torch.__version__}")


if __name__ == "__main__":
    main()
