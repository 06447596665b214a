"""Keys that are no more, and why: older files and folders still name them."""

from typing import NamedTuple

_UNUSED = "it was removed, because no configuration and no experiment ever used it"
_A_TRIAL = "it was removed, because only two experiments used it; benchmarks/experiments/trials.py has it for them"
_NO_GAIN = "it was removed, because other values gained no more than seeds differ by (eurlex6k-screening.md)"
_MAX = "it was removed, because nothing ever used another value than `max`: the label's highest value divides"
_CLOSED_FORM = "it was removed, because closed_form gained no more than the ranking loss or a single stage does"
_FACTORS = "it was removed, because network_config: {matched_rates: true} plants better in as much time"
_NOT_PAID = "it was removed, because nothing was lost without it (codiesp-evidence_parts.md)"
_GROUPS = "groups of documents know rare labels less; with model: auto many are solved label by label"
_ONE_RATE = "all but the encoder learns at the stage's learning_rate"


class Removed(NamedTuple):
    """A key that is no more."""

    neutral: tuple[object, ...]  # values at which it changed nothing, its default first
    why: str
    counted: bool = True  # its default stays in the hash, or no run that was interrupted before would resume

    @property
    def fix(self) -> str:
        """What to do about another value."""
        return f"leave it out: {self.why}"


REMOVED = {  # by block
    "evidence": {"stage1": Removed((True,), f"{_NOT_PAID}; stage 1 ranks words by their relevance")},
    "planted_scores": {"group_size": Removed((16_000,), _GROUPS)},
    "relevance": {"normalize": Removed(("max",), _MAX)},
    "stage1": {
        "method": Removed(("gradient",), _CLOSED_FORM),
        "start": Removed(("drawn",), _FACTORS, counted=False),  # it had come after the first runs
        "strength": Removed((4.0,), _FACTORS),
        "sigma": Removed((1.0,), f"{_NO_GAIN}; σ is 1, and how long queries are is learned"),
        "attention_learning_rate": Removed((None,), f"{_NO_GAIN}; {_ONE_RATE}"),
        "prior_learning_rate": Removed((None,), f"{_UNUSED}; {_ONE_RATE}"),
    },
    "stage2": {
        "attention_learning_rate": Removed((None,), f"{_NO_GAIN}; {_ONE_RATE}"),
        "prior_learning_rate": Removed((None,), f"{_UNUSED}; {_ONE_RATE}"),
        "label_share": Removed((0.0,), _A_TRIAL),
        "watch_training": Removed((0,), _A_TRIAL),
    },
}
REMOVED_ARGUMENTS = {  # of `network_config`
    "prior_sharing": Removed(("none",), f"{_UNUSED}; each label of each head has a strength β of its own"),
    "lm_attention": Removed(
        (None, "sdpa", "flash_attention_2", "eager"), f"{_UNUSED}; transformers chooses how attention is computed"
    ),
}
