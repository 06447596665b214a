"""``plant explain``, and its page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.model.page import page

ATTACK = "sign3x </script><script>document.title='broken'</script> <img src=x onerror=alert(1)> {{script}} <!-- [bold]"


def explain(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(plant, ["explain", *arguments, "--device", "cpu"], input=given)


@pytest.fixture(scope="module")
def predictor(trained: Path) -> Predictor:
    return Predictor.load(trained, device="cpu", names={"L3": "the <third>"}.get)


def test_on_the_terminal(trained: Path) -> None:
    outcome = explain(str(trained), "--label", "L3", given="filler1 [bold] sign3x\nfiller2 sign5x")
    assert outcome.exit_code == 0, outcome.output
    assert "L3: " in outcome.output
    assert "= words " in outcome.output
    assert re.search(r"\+ planted scores [+-]\d", outcome.output)
    assert re.search(r"^  planted scores: .*sign3x [+-]\d", outcome.output, re.MULTILINE)
    assert "[bold]" in outcome.output
    assert "L5" not in outcome.output


def test_as_json(trained: Path) -> None:
    text = "filler1 sign3x\nfiller2"
    outcome = explain(str(trained), "--json", "--label", "L3", given=text)
    found = json.loads(outcome.stdout)
    [label] = found["labels"]
    total = sum(word["contribution"] for word in label["words"]) + label["bias"] + label["planted"] + label["elsewhere"]
    assert total == pytest.approx(label["logit"], abs=1e-3)
    assert {text[word["start"] : word["end"]] for word in label["words"]} == {"filler1", "sign3x", "filler2"}
    assert all(word["text"] == text[word["start"] : word["end"]] for word in label["words"])
    two = json.loads(explain(str(trained), "--json", "--beside", f"again={trained}", given=text).stdout)
    assert [one["model"] for one in two] == [trained.name, "again"]


def test_side_by_side_each_model_explains_what_any_predicts(trained: Path, untrained: Callable[..., Path]) -> None:
    torch.manual_seed(0)
    text, other = "filler1 sign3x filler2 sign1x", untrained()
    asked = ("--json", "--top", "1")
    alone = [json.loads(explain(str(model), *asked, given=text).stdout) for model in (trained, other)]
    best = {one["labels"][0]["label"] for one in alone}
    assert len(best) == 2
    two = json.loads(explain(str(trained), *asked, "--beside", str(other), given=text).stdout)
    assert [{label["label"] for label in one["labels"]} for one in two] == [best, best]


def test_one_of_many_documents(trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"id": "a", "text": "sign1x"}\n{"id": "b", "text": "sign2x"}\n')
    options = ("--input", "jsonl", "--json", "--top", "1")
    for document, label in (("a", "L1"), ("b", "L2")):
        found = json.loads(explain(str(trained), str(path), *options, "--document", document).stdout)
        assert found["labels"][0]["label"] == label
    for arguments, message in (((), "more than one document"), (("--document", "c"), "no document has this id")):
        outcome = explain(str(trained), str(path), *options, *arguments)
        assert outcome.exit_code == 2
        assert message in outcome.output
    whole = explain(str(trained), str(path), "--document", "a")
    assert "say with --input what it is" in whole.output
    path.write_text('{"id": "a", "text": "sign1x"}\n{"id": "a", "text": "sign2x"}\n')
    twice = explain(str(trained), str(path), *options, "--document", "a")
    assert "more than one document has this id" in twice.output
    empty = explain(str(trained), "--input", "lines", given="")
    assert "no document is here" in empty.output


def test_a_label_that_is_not_there(trained: Path) -> None:
    outcome = explain(str(trained), "--label", "L33", given="a")
    assert outcome.exit_code == 2
    assert "does not know the label 'L33'" in outcome.output


class Reader(HTMLParser):
    """What a browser would see: tags, and the content of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_data(self, data: str) -> None:
        if self._open in self.inside:
            self.inside[self._open][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._open = ""


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_markup_in_a_note_stays_text(predictor: Predictor) -> None:
    reader = read(page([predictor.explain(ATTACK, ["L3"])], title="<b>title</b>"))
    data, script = reader.inside["script"]
    assert json.loads(data)["text"] == ATTACK
    assert json.loads(data)["models"][0]["labels"][0]["name"] == "the <third>"
    names = [name for name, _ in reader.tags]
    assert names.count("script") == 2
    assert not {"img", "b", "link", "iframe"} & set(names)
    assert "innerHTML" not in script
    assert "insertAdjacentHTML" not in script


def test_only_its_own_script_may_run_and_nothing_is_fetched(predictor: Predictor) -> None:
    text = page([predictor.explain("sign3x")])
    reader = read(text)
    policy = next(values["content"] for tag, values in reader.tags if "http-equiv" in values)
    assert policy is not None
    for kind, content in (("style", reader.inside["style"][0]), ("script", reader.inside["script"][1])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"https?://|@import|url\(", text)
    assert not any({"src", "href"} & values.keys() and values.get("href") != "#document" for _, values in reader.tags)
    assert not any(key.startswith("on") for _, values in reader.tags for key in values)


def test_what_a_page_needs_for_everybody(predictor: Predictor) -> None:
    tags = read(page([predictor.explain("sign3x")])).tags
    assert ("html", {"lang": "en"}) in tags
    names = [name for name, _ in tags]
    assert {"title", "main", "nav", "h1", "h2", "fieldset", "legend", "noscript"} <= set(names)
    assert any(values.get("role") == "status" and values.get("aria-live") == "polite" for _, values in tags)
    assert any(values.get("name") == "viewport" for _, values in tags)


def test_numbers_of_the_page_are_those_of_the_explanation(predictor: Predictor) -> None:
    explanation = predictor.explain("filler1 sign3x", ["L3"])
    label = json.loads(read(page([explanation])).inside["script"][0])["models"][0]["labels"][0]
    evidence = explanation.labels[0]
    assert label["words_sum"] + label["bias"] + label["planted"] + label["elsewhere"] == pytest.approx(
        label["logit"], abs=1e-3
    )
    for place, attention, contribution, relevance in label["words"]:
        assert evidence.contribution is not None
        assert evidence.relevance is not None
        assert (attention, contribution, relevance) == pytest.approx(
            (evidence.attention[place], evidence.contribution[place], evidence.relevance[place]), abs=1e-3
        )
    [passage] = label["passages"]
    assert explanation.words[passage["first"]][0] == passage["start"]
    assert explanation.words[passage["last"]][1] == passage["end"]


def test_explanations_of_different_texts_have_no_page(predictor: Predictor) -> None:
    with pytest.raises(ValueError, match="one text"):
        page([predictor.explain("a"), predictor.explain("b")])
    with pytest.raises(ValueError, match="one text"):
        page([])


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.integration
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
def test_in_a_browser(trained: Path, untrained: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    outcome = explain(str(trained), "--beside", f"plain={untrained()}", "--html", str(out), "--top", "3", given=ATTACK)
    assert outcome.exit_code == 0, outcome.output
    options: list[Any] = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", out.as_uri()]
    done = subprocess.run([CHROMIUM, *options], capture_output=True, text=True, check=True, timeout=120)
    seen = read(done.stdout)
    assert "<title>Why these labels?</title>" in done.stdout
    assert [values["aria-pressed"] for tag, values in seen.tags if "aria-pressed" in values].count("true") == 1
    assert sum(tag == "article" for tag, _ in seen.tags) == 2
    assert any(tag == "mark" and values.get("title", "").startswith("contribution") for tag, values in seen.tags)
    assert not any(tag == "img" for tag, _ in seen.tags)
