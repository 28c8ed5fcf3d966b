"""The rows of the paper's Figure 6, and the programs of this project that they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prism_mlir.graph.errors import InputError


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A workload at a size.

    file:     stem of its program
    torch:    what it is called among the functions in PyTorch
    over_mirage: how much faster the paper's kernel is than Mirage's on an A100 (section 7.2 and Figure 6)
    """

    workload: str
    size: str
    file: str
    torch: str
    over_mirage: float


ROWS = (
    PaperRow("RMSNorm", "d=4096 n=8", "rms_norm_d4096_n8", "rms_norm", 1.2),
    PaperRow("RMSNorm", "d=1024 n=16", "rms_norm_d1024_n16", "rms_norm", 1.1),
    PaperRow("RMSNorm-MLP", "d=1024 n=16", "rms_norm_mlp_d1024_n16", "rms_norm_mlp", 1.2),
    PaperRow("RMSNorm-MLP", "d=1024 n=8", "rms_norm_mlp_d1024_n8", "rms_norm_mlp", 1.9),
    PaperRow("SwiGLU", "d=2048 n=8", "swiglu_d2048_n8", "swiglu", 1.0),
    PaperRow("SwiGLU", "d=4096 n=8", "swiglu_d4096_n8", "swiglu", 1.0),
    PaperRow("Attention", "h=1024 b=2 g=8 d=128", "attention_b2_g8_h1024_d128", "attention", 1.2),
    PaperRow("Attention", "h=2048 b=2 g=8 d=128", "attention_b2_g8_h2048_d128", "attention", 1.3),
    PaperRow("QK-Attention", "h=1024 b=2 g=8 d=128", "qk_attention_b2_g8_h1024_d128", "qk_attention", 1.8),
    PaperRow("QK-Attention", "h=2048 b=2 g=8 d=128", "qk_attention_b2_g8_h2048_d128", "qk_attention", 2.2),
)

EXAMPLES = {  # programs in examples/, which are rows of the figure at one size
    "rms_norm": "rms_norm_d1024_n16",
    "rms_norm_mlp": "rms_norm_mlp_d1024_n16",
    "swiglu": "swiglu_d2048_n8",
    "attention": "attention_b2_g8_h1024_d128",
    "qk_attention": "qk_attention_b2_g8_h1024_d128",
}


def stem_of(path: Path) -> str:
    """A file's name without ``.mlir`` and ``.linalg``."""
    return path.name.removesuffix(".mlir").removesuffix(".linalg")


def row_of(path: Path) -> PaperRow | None:
    """The row that a file is by its name, if any. Whether it computes that is found out when results are compared."""
    stem = stem_of(path)
    return next((r for r in ROWS if r.file == EXAMPLES.get(stem, stem)), None)


def repository() -> Path:
    """The checkout this package lies in. Raises :class:`InputError` where it was installed without one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "benchmarks" / "peers").is_dir() or not (root / "test" / "inputs" / "paper").is_dir():
        raise InputError(
            "the paper's programs and the kernels in Triton are in the repository, not in the installed package",
            None,
            "run prism from a checkout, or name files and use --peers torch,compile",
        )
    return root


def paper_files() -> list[Path]:
    """The programs of all rows. Raises as :func:`repository`."""
    folder = repository() / "test" / "inputs" / "paper"
    return [folder / f"{row.file}.linalg.mlir" for row in ROWS]
