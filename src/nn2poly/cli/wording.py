"""Remedies in the words of the command line, not of Python."""

from __future__ import annotations

import re

# What messages say in Python → at the command line.
WORDS = (
    (r"pass a sample of inputs,? \(?data=X\)?,?", "add --data train.csv"),
    (r"pass data=X(, for example the training inputs)?", "add --data train.csv"),
    (r"\bdata=X\b", "--data train.csv"),
    (r"\bpass (link|threshold|classes|regions|max_terms|missing|output)=", r"\1="),
    (r"\bmissing=\"skip\"", "--skip-missing"),
    (r"\bmax_order=\"?(\w+|…)\"?", r"--order \1"),
    (r"\bmax_terms=(\w+|…)", r"--max-terms \1"),
    (r"\b(link|threshold|regions|method)=\"?([\w.]+|…)\"?", r"--\1 \2"),
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
    return said or None
