"""How files are cut into shards, and what is written for them."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from keras_transformer.bulk import BulkError
from keras_transformer.bulk.formats import MAX_BYTES, MAX_ROWS, Answers, Place, format_of
from keras_transformer.text.corpus import CorpusError
from tests.support.bulk_models import upper


def translated(
    source: Path, column: str | None = None, answers: Answers = Answers.TEXT, model: Any = upper
) -> Path:
    """The translation of a file, through all its shards."""
    form = format_of(source.name.removesuffix(".gz"), column, answers)
    parts, first = [], 1
    for index, rows in enumerate(form.cut(source)):
        parts.append(source.with_name(f"part{index}"))
        form.write(form.translate(rows.content, Place(source, first), model), parts[-1])
        first += rows.count
    form.join(source, parts, source.with_name("whole"))
    return source.with_name("whole")


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        ("\ufeffa\n\ufeffb\n".encode(), ["a", "\ufeffb"]),
        ("a\u2028b\u0085c\x0bd\x0ce\x1df\rg\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\x1df\rg"]),
    ],
)
@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_only_a_line_feed_ends_a_line(tmp_path: Path, name: str, content: bytes, lines: list[str]) -> None:
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    shards = format_of("text", None, Answers.TEXT).cut(tmp_path / name)
    assert [line for rows in shards for line in rows.content] == lines


def test_a_shard_ends_after_enough_lines_or_enough_bytes(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("a\n" * (MAX_ROWS + 1) + f"{'b' * MAX_BYTES}\n" + "c\n")
    shards = list(format_of("text", None, Answers.TEXT).cut(path))
    assert [rows.count for rows in shards] == [MAX_ROWS, 2, 1]
    assert sum(rows.weight for rows in shards) == path.stat().st_size


def test_a_line_end_that_a_model_answers_stays_in_its_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a\nb\n")
    whole = translated(tmp_path / "text", model=lambda texts: [f"{text}\r\n{text}" for text in texts])
    assert whole.read_bytes() == b"a  a\nb  b\n"


RECORDS = [
    '{"id": 1.50, "text": "Merci\\nbien."}',
    "",
    '{"text":null}  ',
    ' {"text": "\\u00e9t\u00e9", "text2": {"a": []}}',
]


def test_a_json_object_keeps_what_is_in_it_to_the_byte_and_gets_a_key(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(RECORDS) + "\n", "utf-8")
    assert translated(tmp_path / "a.jsonl", "text").read_text("utf-8").splitlines() == [
        '{"id": 1.50, "text": "Merci\\nbien.", "translation": "MERCI\\nBIEN."}',
        "",
        '{"text":null, "translation": null}',
        ' {"text": "\\u00e9t\u00e9", "text2": {"a": []}, "translation": "\u00c9T\u00c9"}',
    ]


def scored(texts: list[str]) -> list[str]:
    return [f"-0.2500\t{text.upper()}" if text else "\t" for text in texts]


def test_a_score_is_a_number_of_its_own_and_a_blank_text_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"t": "a\\tb"}\n{"t": ""}\n')
    lines = translated(tmp_path / "a.jsonl", "t", Answers.SCORED, scored).read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"t": "a\tb", "translation": "A\tB", "score": -0.25},
        {"t": "", "translation": "", "score": None},
    ]


def test_all_answers_of_the_search_are_an_object_in_the_object(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"t": "a"}\n')
    whole = translated(
        tmp_path / "a.jsonl", "t", Answers.JSON, lambda texts: ['{"text": "A"}' for _ in texts]
    )
    assert json.loads(whole.read_text()) == {"t": "a", "translation": {"text": "A"}}


@pytest.mark.parametrize("rows", [0, 3, 2 * MAX_ROWS + 1])
def test_a_parquet_file_keeps_its_columns_and_types_and_gets_others(tmp_path: Path, rows: int) -> None:
    texts = [None if index == 1 else f"text {index}" for index in range(rows)]
    table = pa.table(
        {
            "text": pa.array(texts, pa.string()),
            "kind": pa.array(["x"] * rows).dictionary_encode(),
            "when": pa.array(range(rows), pa.timestamp("ms")),
        }
    ).replace_schema_metadata({"made": "by hand"})
    parquet.write_table(table, tmp_path / "a.parquet")
    whole = parquet.read_table(translated(tmp_path / "a.parquet", "text", Answers.SCORED, scored))
    assert whole.select(table.column_names).equals(table.cast(whole.select(table.column_names).schema))
    assert whole.schema.field("when").type == pa.timestamp("ms")
    assert whole.schema.metadata[b"made"] == b"by hand"
    assert whole["translation"].to_pylist() == [text and text.upper() for text in texts]
    assert whole["score"].to_pylist() == [text and -0.25 for text in texts]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "list"),
        ('{"other": "a"}', "'other'"),
        ('{"text": 5}', "5"),
        ('{"text": "\\ud83d"}', "ud83d"),
        ('{"text": "a", "translation": "b"}', "'translation'"),
    ],
)
def test_a_record_without_a_text_is_refused_by_its_line(tmp_path: Path, line: str, named: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"text": "a"}}\n{line}\n')
    with pytest.raises(CorpusError, match=r"a\.jsonl, line 2: ") as refused:
        translated(tmp_path / "a.jsonl", "text")
    assert named in str(refused.value)


def write_table(path: Path) -> None:
    parquet.write_table(pa.table({"text": ["a"], "number": [1]}), path)


@pytest.mark.parametrize(
    ("make", "column", "named"),
    [
        (write_table, "other", "'number', 'text'"),
        (write_table, "number", "int64"),
        (lambda path: path.write_text("text"), "text", "no Parquet file"),
    ],
)
def test_a_table_without_a_column_of_text_is_refused(
    tmp_path: Path, make: Callable[[Path], object], column: str, named: str
) -> None:
    make(tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match=r"a\.parquet") as refused:
        translated(tmp_path / "a.parquet", column)
    assert named in str(refused.value)


@pytest.mark.parametrize(("name", "column"), [("a.jsonl", None), ("a.parquet", None), ("a.txt", "text")])
def test_a_column_is_needed_where_there_are_columns_and_only_there(name: str, column: str | None) -> None:
    with pytest.raises(BulkError, match="--column"):
        format_of(name, column, Answers.TEXT)
