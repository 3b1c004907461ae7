"""Remedies in the words of the command line, not of Python."""

from __future__ import annotations

import re

# Options of a conversion that messages write with their values, and those whose names are no words
# of English and are told by them alone.
PLAIN = ("link", "threshold", "regions", "method", "groups", "around")
NAMED = ("max_order", "max_terms", "target_r2", "taylor_order")
# What stands for an option at the command line.
FLAGS = {
    name: f"--{name.replace('_', '-')}"
    for name in (*PLAIN, *NAMED, "data", "bounded", "transforms", "classes")
} | {"max_order": "--order", "missing": "--skip-missing"}
# What messages say in Python → at the command line.
WORDS = (
    (r"pass a sample of inputs,? \(?data=X\)?,?", "add --data train.csv"),
    (r"pass data=X(, for example the training inputs)?", "add --data train.csv"),
    (r"\bpass (link|threshold|classes|regions|max_terms|missing|output)=", r"\1="),
    (r"\bmissing=\"skip\"", "--skip-missing"),
    (r'\btransforms=\{"(\w+)": "(\w+)"\}', r"--transforms \1=\2"),
    (r"\bclasses=\[?([^\]\s;]*)\]?", "--classes A,B"),
    (r"\bnn2poly\.fidelity\b", "nn2poly fidelity"),
)
# Clauses that only a program can follow.
PYTHON = re.compile(
    r"convert\(|lambda|nn2poly\.(Network|Layer|register|load)"
    r"|pass (model|onnx|the model|a function)"
    r"|check=False|\bonnx\.|keras\.Model|output="
)


def at_command_line(text: str | None) -> str | None:
    """Put a remedy into the words of the command line; clauses for programs are left out.

    Examples
    --------
    >>> at_command_line("pass data=X, for example the training inputs; or convert(f, 2, data=X)")
    'add --data train.csv'
    """
    if text is None:
        return None
    clauses = re.split(r";\s+(?:or\s+)?", text)
    kept = [clause for clause in clauses if not PYTHON.search(clause)]
    said = "; ".join(kept)
    for pattern, words in WORDS:
        said = re.sub(pattern, words, said)
    return as_flags(said) or None


def as_flags(text: str) -> str:
    """Put names of options into those of the command line, with their values.

    Examples
    --------
    >>> as_flags("leave method='taylor' or max_terms= out; no data=")
    'leave --method taylor or --max-terms out; no --data'
    """
    given = rf"\b({'|'.join((*PLAIN, *NAMED))})=[\"']?([\w.]+|…|)[\"']?"
    said = re.sub(given, lambda m: f"{FLAGS[m[1]]} {m[2]}".rstrip(), text)
    said = re.sub(rf"\b({'|'.join(NAMED)})\b", lambda m: FLAGS[m[1]], said)
    return re.sub(r"\bdata=(X\b)?", lambda m: "--data train.csv" if m[1] else "--data", said)
