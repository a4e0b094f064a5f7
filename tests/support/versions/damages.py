"""All that can be wrong with a version directory, and what is said of it."""

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.support.versions.small_model import small_model

AGAIN = "copy the version again from where it came, or export it again"
MODEL = "ctranslate2/model.bin"
TWO_RULES = (
    "limits must be source_tokens 1024, target_tokens 1024, answer_factor 2, answer_extra 10 for this "
    "network; got source_tokens 1024, target_tokens 1024, answer_factor 3, answer_extra 10"
)
OTHER_LANGUAGES = (
    "its languages source fr, target en are not the manifest's source fr, target de: it belongs to another "
    "version"
)
FUTURE = (
    "it has format 2, and this program supports up to 1; install the release of this package that wrote it, "
    "or a later one"
)
KEYS = ("source", "source_ids", "target", "target_ids", "score", "margin", "reference")


def written(version: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """The manifest, changed."""
    path = version / "manifest.json"
    values = json.loads(path.read_bytes())
    change(values)
    path.write_text(json.dumps(values))


def summed_again(version: Path, name: str) -> None:
    """As somebody would who means harm, or well."""
    content = (version / name).read_bytes()
    both = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    written(version, lambda values: values["files"].update({name: both}))


def golden(version: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Other golden lines, of which the manifest knows."""
    path = version / "golden.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    summed_again(version, "golden.jsonl")


def first_line_with(**changes: object) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [json.dumps(json.loads(lines[0]) | changes).encode() + b"\n", *lines[1:]]


def one_bit_flipped(version: Path) -> None:
    content = bytearray((version / MODEL).read_bytes())
    content[1000] ^= 1
    (version / MODEL).write_bytes(content)


def swapped(version: Path) -> None:
    one, two = version / "tokenizer" / "shared.model", version / MODEL
    one.rename(version / "x")
    two.rename(one)
    (version / "x").rename(two)


def linked_out(version: Path) -> None:
    outside = version.parent / "outside.bin"
    (version / MODEL).rename(outside)
    (version / MODEL).symlink_to(outside)


def a_directory(version: Path) -> None:
    (version / MODEL).unlink()
    (version / MODEL).mkdir()


def moved_out(name: str) -> Callable[[Path], None]:
    """The manifest names a file outside, whose sum is right."""

    def move(version: Path) -> None:
        target = version / name
        target.write_bytes(b"outside")
        summed_again(version, name)

    return move


def listed(name: str) -> Callable[[Path], None]:
    return lambda version: written(
        version, lambda values: values["files"].update({name: {"sha256": "0" * 64, "bytes": 0}})
    )


def changed(*keys: str, to: object) -> Callable[[Path], None]:
    """The manifest's value at these keys."""

    def change(values: dict[str, Any]) -> None:
        for key in keys[:-1]:
            values = values[key]
        values[keys[-1]] = to

    return lambda version: written(version, change)


def dropped(*keys: str) -> Callable[[Path], None]:
    def drop(values: dict[str, Any]) -> None:
        for key in keys[:-1]:
            values = values[key]
        del values[keys[-1]]

    return lambda version: written(version, drop)


def as_bytes(change: Callable[[bytes], bytes], name: str = "manifest.json") -> Callable[[Path], object]:
    return lambda version: (version / name).write_bytes(change((version / name).read_bytes()))


def of_another_model(version: Path) -> None:
    """A tokenizer that is whole, but not this model's."""
    other = small_model(joint=False).tokenizer
    shutil.rmtree(version / "tokenizer")
    other.save(version / "tokenizer")
    written(version, lambda values: values["files"].pop("tokenizer/shared.model"))
    for name in ("about.json", "source.model", "target.model"):
        summed_again(version, f"tokenizer/{name}")


def without_tokenizer(version: Path) -> None:
    shutil.rmtree(version / "tokenizer")

    def forget(values: dict[str, Any]) -> None:
        for name in ("about.json", "shared.model"):
            del values["files"][f"tokenizer/{name}"]

    written(version, forget)


DAMAGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "no manifest": (
        lambda version: (version / "manifest.json").unlink(),
        [f"manifest.json: it is missing; name a directory that `keras-transformer export` wrote, or {AGAIN}"],
    ),
    "the manifest is a directory": (
        lambda version: [(version / "manifest.json").unlink(), (version / "manifest.json").mkdir()],
        [f"manifest.json: it must be a file, and is a directory; {AGAIN}"],
    ),
    "the manifest is empty": (
        as_bytes(lambda content: b""),
        [f"manifest.json: it is not JSON: Expecting value: line 1 column 1 (char 0); {AGAIN}"],
    ),
    "the manifest is cut off": (
        as_bytes(lambda content: content[:200]),
        ["manifest.json: it is not JSON: "],
    ),
    "the manifest is not UTF-8": (
        as_bytes(lambda content: b"\xff" + content),
        ["manifest.json: it is not JSON: 'utf-8' codec can't decode byte 0xff in position 0"],
    ),
    "the manifest is a list": (
        as_bytes(lambda content: b"[]"),
        [f"manifest.json: it must be an object; got []; {AGAIN}"],
    ),
    "the manifest is nested without end": (
        as_bytes(lambda content: b"[" * 100_000),
        [f"manifest.json: it is nested too deeply; {AGAIN}"],
    ),
    "a key stands twice": (
        as_bytes(lambda content: content.replace(b"{", b'{"format": 1,', 1)),
        [f'manifest.json: it is not JSON: the key "format" is duplicate; {AGAIN}'],
    ),
    "a number is none": (
        as_bytes(lambda content: content.replace(b'"parameters": ', b'"parameters": NaN, "was": ')),
        [f"manifest.json: it is not JSON: NaN is not a number in JSON; {AGAIN}"],
    ),
    "an unknown key": (
        changed("network", "experts", to=8),
        [f"manifest.json: network.experts is not a known key; {AGAIN}"],
    ),
    "a missing key": (
        dropped("limits", "answer_extra"),
        [f"manifest.json: limits.answer_extra is missing; {AGAIN}"],
    ),
    "a missing key that has a default elsewhere": (
        dropped("network", "activation"),
        [f"manifest.json: network.activation is missing; {AGAIN}"],
    ),
    "wrong types": (
        lambda version: [
            changed("special_ids", "end", to="3")(version),
            changed("special_ids", "start", to=True)(version),
            changed("special_ids", "padding", to=0.0)(version),
        ],
        [
            f"manifest.json: special_ids.padding must be a whole number; got 0.0; {AGAIN}",
            f"manifest.json: special_ids.start must be a whole number; got true; {AGAIN}",
            f'manifest.json: special_ids.end must be a whole number; got "3"; {AGAIN}',
        ],
    ),
    "lengths that no message can carry": (
        changed("lengths", "longest", to=2**32),
        [f"manifest.json: lengths.longest must be 0 to 2147483647; got 4294967296; {AGAIN}"],
    ),
    "a length below nothing": (
        changed("lengths", "whole", to=-1),
        [f"manifest.json: lengths.whole must be 0 to 2147483647; got -1; {AGAIN}"],
    ),
    "a text without end": (
        changed("quality", "corpus", to="a" * 100_001),
        [f"manifest.json: quality.corpus must have at most 100,000 characters; got 100,001; {AGAIN}"],
    ),
    "a language that no terminal shows": (
        changed("languages", "source", to="fr\x1b[2J"),
        [
            "manifest.json: languages: source must have at most 100 characters, all printable; "
            f"got 'fr\\x1b[2J'; {AGAIN}"
        ],
    ),
    "a corpus that no terminal shows": (
        changed("quality", "corpus", to="books\n\x1b[2J"),
        [f"manifest.json: quality: corpus must be one printable line; got 'books\\n\\x1b[2J'; {AGAIN}"],
    ),
    "half a character": (
        as_bytes(lambda content: content.replace(b'"fr"', b'"fr\\ud83d"', 1)),
        ["manifest.json: it is not JSON: 'utf-8' codec can't encode character '\\ud83d'"],
    ),
    "a manifest without end": (
        as_bytes(lambda content: content + b" " * 2**20),
        ["manifest.json: it must have at most 1,048,576 bytes, and has "],
    ),
    "the manifest is a pipe": (
        lambda version: [(version / "manifest.json").unlink(), os.mkfifo(version / "manifest.json")],
        [f"manifest.json: it must be a file, and is neither file nor directory; {AGAIN}"],
    ),
    "the manifest is a device that has no end": (
        lambda version: [
            (version / "manifest.json").unlink(),
            (version / "manifest.json").symlink_to("/dev/zero"),
        ],
        [f"manifest.json: it must be a file, and is neither file nor directory; {AGAIN}"],
    ),
    "more files than can be": (
        lambda version: [(version / str(number)).touch() for number in range(10_000)],
        [f"it has more than 10,000 files and folders; {AGAIN}"],
    ),
    "a network that cannot be": (
        changed("network", "num_heads", to=3),
        [f"manifest.json: network: width must be divisible by num_heads; got 16 and 3; {AGAIN}"],
    ),
    "another rule for the length of answers": (
        changed("limits", "answer_factor", to=3),
        [f"manifest.json: {TWO_RULES}; {AGAIN}"],
    ),
    "no time": (
        changed("created", to="yesterday"),
        [f'manifest.json: created must be a time with its zone; got "yesterday"; {AGAIN}'],
    ),
    "an unknown format": (
        changed("formats", "gguf", to=["float32"]),
        [f'manifest.json: formats must be of onnx, ctranslate2, saved_model; got "gguf"; {AGAIN}'],
    ),
    "an unknown precision": (
        changed("formats", "ctranslate2", to=["int4"]),
        [f'manifest.json: formats.ctranslate2 must be of float32; got ["int4"]; {AGAIN}'],
    ),
    "no format": (
        changed("formats", to={}),
        ["manifest.json: formats must name one of onnx, ctranslate2, saved_model at least; got none; "],
    ),
    "a format without its files": (
        changed("formats", "saved_model", to=["float32"]),
        [
            f"manifest.json: files must have saved_model.pb for saved_model; {AGAIN}",
            f"manifest.json: files must have variables/variables.index for saved_model; {AGAIN}",
        ],
    ),
    "a manifest from the future": (
        lambda version: [changed("format", to=2)(version), changed("weather", to="fine")(version)],
        [f"manifest.json: {FUTURE}"],
    ),
    "format 0": (
        changed("format", to=0),
        [f"manifest.json: there is no format 0; this program supports 1; {AGAIN}"],
    ),
    "no format at all": (dropped("format"), [f"manifest.json: format is missing; {AGAIN}"]),
    "a file is missing": (
        lambda version: (version / MODEL).unlink(),
        [f"{MODEL}: it is missing; {AGAIN}"],
    ),
    "a folder is missing": (
        lambda version: shutil.rmtree(version / "tokenizer"),
        [
            f"tokenizer/about.json: it is missing; {AGAIN}",
            f"tokenizer/shared.model: it is missing; {AGAIN}",
        ],
    ),
    "a file is cut off": (
        as_bytes(lambda content: content[:1000], MODEL),
        [f"{MODEL}: it has 1,000 bytes, not "],
    ),
    "a file is empty": (
        as_bytes(lambda content: b"", MODEL),
        [f"{MODEL}: it has 0 bytes, not "],
    ),
    "one bit is another": (one_bit_flipped, [f"{MODEL}: its sha256 is "]),
    "two files are swapped": (
        swapped,
        [f"{MODEL}: it has ", "tokenizer/shared.model: it has "],
    ),
    "a file more": (
        lambda version: (version / "onnx.py").write_text("import os"),
        ["onnx.py: it is not in the manifest; remove it"],
    ),
    "a hidden file more": (
        lambda version: (version / "tokenizer" / ".hidden").write_bytes(b""),
        ["tokenizer/.hidden: it is not in the manifest; remove it"],
    ),
    "a directory more": (
        lambda version: (version / "variables").mkdir(),
        ["variables: it is not in the manifest; remove it"],
    ),
    "a dead link more": (
        lambda version: (version / "dead").symlink_to("nowhere"),
        ["dead: it is not in the manifest; remove it"],
    ),
    "an absolute path": (
        listed("/etc/passwd"),
        [
            'manifest.json: files, "/etc/passwd": a path must stay inside the directory: it is relative, '
            f"with slashes, and has no ..; {AGAIN}"
        ],
    ),
    "a path with ..": (
        moved_out("../outside"),
        [
            'manifest.json: files, "../outside": a path must stay inside the directory: it is relative, with '
            f"slashes, and has no ..; {AGAIN}"
        ],
    ),
    "a path that comes back": (
        listed("onnx/../../1/tokenizer"),
        ['manifest.json: files, "onnx/../../1/tokenizer": a path must stay inside the directory'],
    ),
    "a path of Windows": (
        listed("..\\outside"),
        ['manifest.json: files, "..\\\\outside": a path must stay inside the directory'],
    ),
    "a path in disguise": (
        listed("tokenizer//about.json"),
        [
            'manifest.json: files, "tokenizer//about.json": a path must be in its simplest form: '
            f"'tokenizer/about.json'; {AGAIN}"
        ],
    ),
    "the manifest in itself": (
        listed("manifest.json"),
        [f'manifest.json: files, "manifest.json": a manifest does not list itself; {AGAIN}'],
    ),
    "a link that leaves": (
        linked_out,
        [f"{MODEL}: it is a link that leaves the directory; put the file itself there"],
    ),
    "a directory instead of a file": (
        a_directory,
        [f"{MODEL}: it must be a file, and is a directory; {AGAIN}"],
    ),
    "a pipe instead of a file": (
        lambda version: [(version / MODEL).unlink(), os.mkfifo(version / MODEL)],
        [f"{MODEL}: it must be a file, and is neither file nor directory; {AGAIN}"],
    ),
    "a wrong size": (
        changed("files", MODEL, "bytes", to=7),
        [f"{MODEL}: it has "],
    ),
    "a size below nothing": (
        changed("files", MODEL, "bytes", to=-1),
        [f"manifest.json: files.{MODEL}.bytes must be 0 to 9007199254740991; got -1; {AGAIN}"],
    ),
    "a wrong sum": (
        changed("files", MODEL, "sha256", to="0" * 64),
        [f"{MODEL}: its sha256 is "],
    ),
    "a size above all disks": (
        changed("files", MODEL, "bytes", to=2**53),
        [f"manifest.json: files.{MODEL}.bytes must be 0 to 9007199254740991; got 9007199254740992; {AGAIN}"],
    ),
    "a sum that is none": (
        changed("files", MODEL, "sha256", to="abc"),
        [f"manifest.json: files.{MODEL}: sha256 must be 64 digits of 0-9a-f; got 'abc'; {AGAIN}"],
    ),
    "no tokenizer": (
        without_tokenizer,
        [f"manifest.json: files must have those of tokenizer/; {AGAIN}"],
    ),
    "another tokenizer": (
        of_another_model,
        ["tokenizer: its vocabulary "],
    ),
    "other languages": (
        changed("languages", "target", to="de"),
        [f"tokenizer: {OTHER_LANGUAGES}; {AGAIN}"],
    ),
    "a tokenizer that is none": (
        lambda version: [
            as_bytes(lambda content: content[:5000], "tokenizer/shared.model")(version),
            summed_again(version, "tokenizer/shared.model"),
        ],
        ["tokenizer: "],
    ),
    "no golden sentences": (
        lambda version: golden(version, lambda lines: []),
        [f"golden.jsonl: there is no sentence in it; {AGAIN}"],
    ),
    "the golden sentences are gone": (
        lambda version: [
            (version / "golden.jsonl").unlink(),
            written(version, lambda values: values["files"].pop("golden.jsonl")),
        ],
        [f"manifest.json: files must have golden.jsonl; {AGAIN}"],
    ),
    "a golden line is damaged": (
        lambda version: golden(version, lambda lines: [lines[0], lines[1][:40] + b"\n", *lines[2:]]),
        ["golden.jsonl, line 2: it is not JSON: "],
    ),
    "a golden line is blank": (
        lambda version: golden(version, lambda lines: [*lines, b"\n"]),
        ["golden.jsonl, line 25: it is not JSON: "],
    ),
    "a golden line is of something else": (
        lambda version: golden(version, lambda lines: [b'{"fr": "Oui.", "en": "Yes."}\n']),
        [
            *(f"golden.jsonl, line 1: {name} is missing; {AGAIN}" for name in KEYS),
            *(f"golden.jsonl, line 1: {name} is not a known key; {AGAIN}" for name in ("fr", "en")),
        ],
    ),
    "a golden source is another": (
        lambda version: golden(version, first_line_with(source="Merci.")),
        [f"golden.jsonl, line 1: source_ids are not the tokenizer's for its source; {AGAIN}"],
    ),
    "a golden target is another": (
        lambda version: golden(version, first_line_with(target="Thanks.")),
        [f"golden.jsonl, line 1: target_ids are not the tokenizer's for its target; {AGAIN}"],
    ),
    "a golden id is none": (
        lambda version: golden(version, first_line_with(target_ids=[5, 800])),
        ["golden.jsonl, line 1: target_ids: row 0 has the id 800, but this vocabulary has the ids 0 to 799"],
    ),
}
