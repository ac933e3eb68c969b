"""The public ops as the headers ops/*.h declare them: names, parameters, options, doc comments."""
import dataclasses
import re


class HeaderError(Exception):
    """What a header says and this parser does not understand, or lacks."""


@dataclasses.dataclass
class Parameter:
    type: str  # without const and &
    name: str
    default: str | None = None  # C++ text: "1e-6", "{}", "GeluForm::erf"
    doc: str = ""


@dataclasses.dataclass
class Struct:
    name: str
    fields: list[Parameter]


@dataclasses.dataclass
class Op:
    name: str
    result: str
    parameters: list[Parameter]
    doc: str  # the comment above or behind it
    shared_doc: str  # otherwise: the comment above the functions that it stands among
    header: str


@dataclasses.dataclass
class Header:
    enums: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    structs: dict[str, Struct] = dataclasses.field(default_factory=dict)
    ops: list[Op] = dataclasses.field(default_factory=list)


def split_outside(text, separator):
    """The parts between separators that stand outside of all brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<({[") - (letter in ">)}]")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def bare(type_text):
    return re.sub(r"\bconst\s+(?=Tensor&|Shape&|\w+&|std::vector<Tensor>&)|(?<!&)&$", "", type_text).strip()


def parse_parameter(text):
    match = re.fullmatch(r"(.+?[\s&>])\s*(\w+)(?:\s*=\s*(.+))?", text)
    if not match:
        raise HeaderError(f"cannot read the parameter '{text}'")
    return Parameter(bare(match[1].strip()), match[2], match[3])


def parse_fields(body):
    """The members of a struct; a comment behind or above a member is its documentation."""
    fields, above = [], []
    for line in body.splitlines():
        code, _, comment = line.partition("///")
        if re.fullmatch(r"\s*\[\[nodiscard\]\] .*\{.*\}\s*", code):  # a member function
            above = []
            continue
        if not code.strip():
            above = [*above, comment.strip()] if comment else []
            continue
        doc = " ".join([*above, comment.lstrip("< ").strip()]).strip()
        above = []
        declared = re.fullmatch(r"\s*([\w:]+(?:<.*?>)?)\s+(.*);\s*", code)
        if not declared:
            raise HeaderError(f"cannot read the member '{line.strip()}'")
        for part in split_outside(declared[2], ","):
            name, default = re.fullmatch(r"(\w+)\s*(?:=?\s*(.*))", part).groups()
            fields.append(Parameter(declared[1], name, default or None, doc))
    return fields


def parse_types(text, header):
    """Enumerations and structs; returns the text without them."""
    for name, body, comment in re.findall(r"^enum class (\w+) \{([^}]*)\};(?:\s*///< (.*))?$", text, re.MULTILINE):
        header.enums[name] = [part.strip() for part in body.split(",")]
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};$", text, re.MULTILINE | re.DOTALL):
        header.structs[name] = Struct(name, parse_fields(body))
    text = re.sub(r"^enum class .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"^(?:struct|class) \w+ \{\n.*?^\};$", "", text, flags=re.MULTILINE | re.DOTALL)


def declarations(text):
    """(its own documentation, that of the functions that it stands among, declaration) of each function."""
    above, doc, code = [], [], ""
    for line in text.splitlines():
        before, _, comment = line.partition("///")
        if not code and not before.strip():
            doc = [*doc, comment.strip()] if comment or line.strip() == "///" else []
            above = doc
            continue
        code += " " + re.sub(r"//.*", "", before).strip()
        behind = [comment.lstrip("< ").strip()] if comment else []
        if code.rstrip().endswith((";", "{", "}")):
            yield [*doc, *behind], above, code.strip()
            doc, code = [], ""
        elif behind:
            doc += behind


def parse_header(path, name):
    """`name` is the path that documentation shows."""
    header = Header()
    text = path.read_text()
    start = text.find("namespace fovea::ops {")
    if start < 0:
        return header
    text = text[start:text.index("}  // namespace fovea::ops")].split("\n", 1)[1]
    for doc, shared, code in declarations(parse_types(text, header)):
        match = re.fullmatch(r"(?:\[\[nodiscard\]\] )?([\w:<>, ]+?) (\w+)\((.*)\);", code)
        if match and not code.startswith("using"):
            parameters = [parse_parameter(part) for part in split_outside(match[3], ",")]
            texts = ["\n".join(part).strip() for part in (doc, shared)]
            header.ops.append(Op(match[2], match[1], parameters, *texts, name))
    return header
