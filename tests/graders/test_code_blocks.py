import pytest

from graders.code_blocks import code_blocks, without_code_blocks


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("a\n```json\n1\n```\nb", [("json", "1\n", True)]),
        ("  ~~~\n2\n~~~~\n", [("", "2\n", True)]),
        ("```py\n```not closing\n```\n", [("py", "```not closing\n", True)]),
        ("````md\n```\n````", [("md", "```\n", True)]),
        ("```{.Python}\nx\n```", [("python", "x\n", True)]),
        ("```json\n{}", [("json", "{}", False)]),
        ("```json\n```", [("json", "", True)]),
        ("```", [("", "", False)]),
        ("```a`b\n", []),
        ("~~~a`b\nx\n~~~", [("a`b", "x\n", True)]),
        ("    ```\nindented\n", []),
        ("inline ``` is none", []),
        ("", []),
    ],
)
def test_blocks(text: str, blocks: list[tuple[str, str, bool]]) -> None:
    found = list(code_blocks(text))
    assert [(block.tag, block.code, block.closed) for block in found] == blocks
    assert all(text[block.start :].startswith(block.code) for block in found)


def test_text_without_blocks() -> None:
    assert without_code_blocks("Bonjour\n```py\nx = 1\n```\nAu revoir").split() == ["Bonjour", "Au", "revoir"]
    assert without_code_blocks("no code") == "no code"
