"""The wire's contract: its generated modules, its style, and the names that others rely on."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from serving.v1 import translation_pb2 as wire
from tests.support.needed import missing, program

ROOT = Path(__file__).parents[2]
PROTO = "serving/v1/translation.proto"
GENERATED = ("translation_pb2.py", "translation_pb2.pyi", "translation_pb2_grpc.py")
STYLE = (
    '{"version": "v2", "modules": [{"path": ".", "includes": ["serving"]}],'
    ' "lint": {"use": ["STANDARD", "COMMENTS"]}}'
)


def test_what_is_generated_is_what_the_proto_gives(tmp_path: Path) -> None:
    if find_spec("grpc_tools") is None:
        missing("grpcio-tools", "pip install grpcio-tools")
    outputs = [f"--{kind}_out={tmp_path}" for kind in ("python", "pyi", "grpc_python")]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", "-I.", *outputs, PROTO], cwd=ROOT, check=True)
    for name in GENERATED:
        assert (tmp_path / "serving/v1" / name).read_bytes() == (ROOT / "serving/v1" / name).read_bytes()


def test_the_proto_has_the_style_that_buf_asks_for_and_a_comment_everywhere() -> None:
    buf = program("buf")
    done = subprocess.run(
        [buf, "lint", "--config", STYLE], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_the_names_and_numbers_that_others_rely_on_stay() -> None:
    promised = {
        "TranslateRequest": {"text": 1, "options": 2},
        "TranslateResponse": {"translation": 1},
        "Options": {
            "model": 1, "version": 2, "max_output_tokens": 3, "priority": 4, "scores": 5, "alignment": 6,
        },
        "Translation": {
            "text": 1, "finish_reason": 2, "tokens": 3, "score": 4, "model": 6, "version": 7,
        },
    }  # fmt: skip
    for name, fields in promised.items():
        found = wire.DESCRIPTOR.message_types_by_name[name].fields_by_name
        assert {field: found[field].number for field in fields} == fields
    service = wire.DESCRIPTOR.services_by_name["TranslationService"]
    assert service.full_name == "serving.v1.TranslationService"
    assert [(method.name, method.server_streaming) for method in service.methods] == [
        ("Translate", False),
        ("BatchTranslate", False),
        ("StreamTranslate", True),
        ("Attend", False),
        ("ListModels", False),
    ]
