"""Writer of text.onnx: translate.onnx with the tokenizer inside, for onnxruntime-extensions.

These operators end a text at a NUL, because it ends a string in C. All other text has the same translation as
in other runtimes.

B batch, S source length, L answer length, P pieces of all texts together.
"""

from pathlib import Path

from onnx import GraphProto, helper, parser

from export.formats.tf2onnx_graphs.rewrites import inner_graphs
from export.formats.writers.onnx_translate import translate_graph
from keras_transformer.models.translation import TranslationModel

DOMAIN = "ai.onnx.contrib"  # of onnxruntime-extensions

#: text (B,) -> source (B, S): what Tokenizer.encode_source gives, padded with 0.
ENCODE = """
encode (string[batch] text) => (int32[batch, source_length] source)
{{
  no = Constant <value = bool[1] {{0}}> ()
  best = Constant <value = int64[1] {{0}}> ()
  weight = Constant <value = float[1] {{1}}> ()
  pieces, splits = {domain}.SentencepieceTokenizer (text, best, weight, no, no, no)

  zero = Constant <value = int64[1] {{0}}> ()
  one = Constant <value = int64[1] {{1}}> ()
  last = Constant <value = int64[1] {{-1}}> ()
  most = Constant <value = int64[1] {{{most}}}> ()
  begins = Slice (splits, zero, last)
  behind = Shape (splits)
  ends = Slice (splits, one, behind)
  found = Sub (ends, begins)
  kept = Min (found, most)
  kept_of_row = Unsqueeze (kept, one)

  kept_or_none = Concat <axis = 0> (kept, zero)
  longest = ReduceMax <keepdims = 0> (kept_or_none)
  start = Constant <value = int64 {{0}}> ()
  step = Constant <value = int64 {{1}}> ()
  width = Add (longest, step)
  places = Range (start, width, step)

  begins_of_row = Unsqueeze (begins, one)
  index = Add (begins_of_row, places)
  pad = Constant <value = int32[1] {{0}}> ()
  end = Constant <value = int32[1] {{{end_id}}}> ()
  pieces_and_pad = Concat <axis = 0> (pieces, pad)
  count = Size (pieces)
  index_or_pad = Min (index, count)
  piece = Gather (pieces_and_pad, index_or_pad)
  is_piece = Less (places, kept_of_row)
  is_end = Equal (places, kept_of_row)
  end_or_pad = Where (is_end, end, pad)
  source = Where (is_piece, piece, end_or_pad)
}}
"""

#: target (B, L) -> translation (B,): what Tokenizer.decode_target gives.
DECODE = """
decode (int32[batch, target_length] target) => (string[batch] translation)
{{
  shape = Shape (target)
  first = Constant <value = int64 {{0}}> ()
  rows = Gather (shape, first)
  translations = Loop (rows, "") <body = decode_row (int64 row, bool on) => (bool still_on, string[1] said)
  {{
    still_on = Identity (on)
    ids = Gather (target, row)
    nothing = Constant <value = int32 {{0}}> ()
    last_id = Constant <value = int32 {{{end_id}}}> ()
    is_pad = Equal (ids, nothing)
    is_last = Equal (ids, last_id)
    is_silent = Or (is_pad, is_last)
    is_said = Not (is_silent)
    words = Compress <axis = 0> (ids, is_said)
    wide_words = Cast <to = 7> (words)
    said = {domain}.SentencepieceDecoder (wide_words)
  }}>
  flat = Constant <value = int64[1] {{-1}}> ()
  translation = Reshape (translations, flat)
}}
"""


def write_text_onnx(model: TranslationModel, path: Path) -> None:
    """Write the graph text (B,) -> translation (B,), score (B,), the mean log-probability of the tokens.

    Raises:
        ValueError: If the model has no tokenizer.
    """
    tokenizer = model.tokenizer
    if tokenizer is None:
        raise ValueError("this model has no tokenizer: text.onnx translates text.")
    numbers = {"domain": DOMAIN, "end_id": tokenizer.eos_id, "most": model.network.max_length - 1}
    encode, decode = (parser.parse_graph(graph.format(**numbers)) for graph in (ENCODE, DECODE))
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


def _give(operator: str, graph: GraphProto, pieces: bytes) -> None:
    """Set the tokenizer's model as an attribute of an operator."""
    for node in graph.node:
        if node.op_type == operator:
            node.attribute.append(helper.make_attribute("model", pieces))
        for inner in inner_graphs(node):
            _give(operator, inner, pieces)
