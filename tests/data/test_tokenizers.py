import pytest
from hypothesis import given
from hypothesis import strategies as st

from mi_attention.data.tokenizers import split_on_spaces, split_words, tokenizer_named


@given(st.text())
def test_whitespace_tokens_join_to_the_text(text):
    assert " ".join(split_on_spaces(text)) == text


@given(st.text())
def test_words_keep_everything_but_space_in_order(text):
    assert "".join(split_words(text)) == "".join(text.split())
    assert all(split_words(text))


def test_words_by_hand():
    assert split_words("Don't stop: it's 3.5%, (really)!") == [
        "Don't", "stop", ":", "it's", "3", ".", "5", "%", ",", "(", "really", ")", "!",
    ]  # fmt: skip
    assert split_words("l’été_1 naïve") == ["l’été_1", "naïve"]


def test_unknown_tokenizer_is_refused_with_the_nearest():
    assert tokenizer_named("word") is split_words
    with pytest.raises(ValueError, match="did you mean 'whitespace'"):
        tokenizer_named("white-space")
