"""The pictures of README.md are what ``python docs/_site/pictures.py`` draws."""
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_pictures_are_up_to_date():
    spec = spec_from_file_location("pictures", DOCS / "_site" / "pictures.py")
    assert spec is not None and spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    readme = (DOCS.parent / "README.md").read_text()
    for name, text in made.pictures().items():
        assert (DOCS / "_static" / name).read_text() == text, "python docs/_site/pictures.py writes it anew"
        assert f"(docs/_static/{name})" in readme
