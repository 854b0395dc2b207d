from pathlib import Path


def generate(a: Path, b: Path) -> None:
    b.mkdir(exist_ok=True)
    (b / "__init__.py").write_text("")
