"""The tokenizer of a directory: tokenizer.json, or vocab.txt with WordPiece."""

from keras_transformer.pretrained.config import ConfigReader
from keras_transformer.pretrained.directory import MAX_JSON_BYTES, PretrainedDirectory, PretrainedError
from keras_transformer.text.subword_tokenizer import SubwordTokenizer, word_piece

TOKENIZER, SETTINGS, VOCABULARY = "tokenizer.json", "tokenizer_config.json", "vocab.txt"
NEEDED = ("[UNK]", "[CLS]", "[SEP]")


def read_tokenizer(
    directory: PretrainedDirectory, vocabulary_size: int, pad_id: int | None
) -> SubwordTokenizer | None:
    """Read the tokenizer of a directory.

    Args:
        directory: The directory.
        vocabulary_size: Number of ids of the model.
        pad_id: Id of padding; None for 0.

    Returns:
        The tokenizer, or None if the directory has neither tokenizer.json nor vocab.txt.

    Raises:
        PretrainedError: If the file is damaged, or has ids that the model does not have.
    """
    if directory.has(TOKENIZER):
        definition = _text(directory, TOKENIZER)
    elif directory.has(VOCABULARY):
        definition = _word_piece(directory)
    else:
        return None
    try:
        tokenizer = SubwordTokenizer(definition, pad_id or 0)
    except ValueError as error:
        raise PretrainedError(directory.path, [f"{TOKENIZER}: {error}"]) from error
    if tokenizer.vocabulary_size > vocabulary_size:
        problem = f"the tokenizer has {tokenizer.vocabulary_size} ids; the model has {vocabulary_size}"
        raise PretrainedError(directory.path, [problem])
    return tokenizer


def _text(directory: PretrainedDirectory, name: str) -> str:
    try:
        return directory.bytes(name, MAX_JSON_BYTES).decode()
    except UnicodeDecodeError as error:
        raise PretrainedError(directory.path, [f"{name} is not in UTF-8 ({error})"]) from error


def _word_piece(directory: PretrainedDirectory) -> str:
    """Return the definition of BERT's tokenizer for the pieces of vocab.txt, one a line."""
    pieces = _text(directory, VOCABULARY).replace("\r\n", "\n").removesuffix("\n").split("\n")
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    problems = [f"{VOCABULARY} lacks {piece}" for piece in NEEDED if piece not in vocabulary]
    if len(vocabulary) < len(pieces):
        problems.append(f"{VOCABULARY} has a piece twice")
    settings = ConfigReader(directory.json(SETTINGS) if directory.has(SETTINGS) else {}, SETTINGS, problems)
    lowercase = settings.flag("do_lower_case", True)
    strips = None if settings.values.get("strip_accents") is None else settings.flag("strip_accents", True)
    chinese = settings.flag("tokenize_chinese_chars", True)
    settings.fixed(
        {"do_basic_tokenize": True, **{f"{piece.strip('[]').lower()}_token": piece for piece in NEEDED}},
        ", which a vocab.txt is read with",
    )
    settings.check(directory.path)
    return str(word_piece(vocabulary, lowercase, strips, chinese).to_str())
