"""The precision with which this machine trains fastest."""

from pathlib import Path

#: Processor flags for products of bfloat16 matrices. Without them TensorFlow converts, and float32 is faster.
BFLOAT16_INSTRUCTIONS = {"avx512_bf16", "amx_bf16"}


def fastest_precision(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return bfloat16 if the processor has instructions for it, else float32."""
    if not cpuinfo.exists():
        return "float32"
    flags = next((line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")), "")
    return "bfloat16" if BFLOAT16_INSTRUCTIONS & set(flags.split()) else "float32"
