"""An input for a command: a real file that was damaged."""

from __future__ import annotations

import random

from command_targets import Target
from text_mutations import damage


def make_input(rng: random.Random, target: Target) -> bytes:
    """A damaged file of the target's corpus."""
    corpus = target.corpus()
    return damage(rng, rng.choice(corpus), corpus)
