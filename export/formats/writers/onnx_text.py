"""Writer of text.onnx: translate.onnx with the tokenizer inside, for onnxruntime-extensions.

These operators end a text at a NUL, because it ends a string in C. All other text has the same translation as
in other runtimes.

B batch, S source length, L answer length, P pieces of all texts together.
"""

from collections.abc import Mapping
from pathlib import Path
from string import Template

from onnx import GraphProto, helper, parser

from export.formats.tf2onnx_graphs.rewrites import inner_graphs
from export.formats.writers.onnx_translate import translate_graph
from keras_transformer.models.translation import TranslationModel

DOMAIN = "ai.onnx.contrib"  # of onnxruntime-extensions

#: Two graphs in ONNX's own language. encode: text (B,) -> source (B, S), as Tokenizer.encode_source, padded
#: with 0. decode: target (B, L) -> translation (B,), as Tokenizer.decode_target.
GRAPHS = Path(__file__).parent / "text"


def write_text_onnx(model: TranslationModel, path: Path) -> None:
    """Write the graph text (B,) -> translation (B,), score (B,), the mean log-probability of the tokens.

    Raises:
        ValueError: If the model has no tokenizer.
    """
    tokenizer = model.tokenizer
    if tokenizer is None:
        raise ValueError("this model has no tokenizer: text.onnx translates text.")
    numbers = {"domain": DOMAIN, "end_id": tokenizer.eos_id, "most": model.network.max_length - 1}
    encode, decode = (_graph(name, numbers) for name in ("encode", "decode"))
    _give("SentencepieceTokenizer", encode, tokenizer.source_model)
    _give("SentencepieceDecoder", decode, tokenizer.target_model)
    converted = translate_graph(model)
    file = converted.file
    file.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    graph = file.graph
    file.graph.CopyFrom(
        GraphProto(
            name="text",
            input=encode.input,
            node=[*encode.node, *graph.node, *decode.node],
            initializer=graph.initializer,
            output=[*decode.output, graph.output[1]],
        )
    )
    converted.write(path)


def _graph(name: str, numbers: Mapping[str, object]) -> GraphProto:
    text = Template((GRAPHS / f"{name}.onnxtxt").read_text("utf-8"))
    return parser.parse_graph(text.substitute(numbers))


def _give(operator: str, graph: GraphProto, pieces: bytes) -> None:
    """Set the tokenizer's model as an attribute of an operator."""
    for node in graph.node:
        if node.op_type == operator:
            node.attribute.append(helper.make_attribute("model", pieces))
        for inner in inner_graphs(node):
            _give(operator, inner, pieces)
