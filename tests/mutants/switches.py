"""Writes every mutant of a crate into one copy of its sources, behind a switch: `MUTANT=7 PROGRAM` runs the seventh.

cargo-mutants says what is changed. Here it is only written in another way, because one build serves all mutants then.
What cannot be switched while the program runs, such as a constant, is left out and returned.
"""

import collections
import re

import tree_sitter
import tree_sitter_rust

RUST = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))

# `MUTANT` names the one that is on. `MUTANTS_SEEN` names a file that gets the number of each one that is reached.
SWITCH = """
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static ON: OnceLock<Option<usize>> = OnceLock::new();
static FILE: OnceLock<Option<String>> = OnceLock::new();
static SEEN: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

pub fn on(number: usize) -> bool {
    let file = FILE.get_or_init(|| std::env::var("MUTANTS_SEEN").ok());
    if let Some(file) = file && !SEEN[number].swap(true, Ordering::Relaxed) {
        if let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(file) {
            file.write_all(format!("{number}\\n").as_bytes()).unwrap_or_default();
        }
    }
    *ON.get_or_init(|| std::env::var("MUTANT").ok()?.parse().ok()) == Some(number)
}
"""


class File:
    """One source file and its mutants, as `(number, mutant)`."""

    def __init__(self, text, mutants, switch):
        self.text = text.encode()
        self.switch = switch
        self.lines = [0]
        for line in self.text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.tree = RUST.parse(self.text).root_node
        # Other texts for a node, and what stands before the first statement of a function.
        self.others = collections.defaultdict(list)
        self.firsts = collections.defaultdict(list)
        # Where a pattern ends that one mutant never matches.
        self.guards = {}
        self.left_out = {}
        for number, mutant in mutants:
            if self.is_elsewhere(mutant):
                self.left_out[number] = "elsewhere"
            elif not self.place(number, mutant):
                self.left_out[number] = "constant"

    def is_elsewhere(self, mutant):
        """Whether it is code of another system."""
        start = self.offset(mutant["span"]["start"])
        node = self.tree.descendant_for_byte_range(start, start)
        while node:
            before = node.prev_sibling
            while before and before.type in ("attribute_item", "line_comment", "block_comment"):
                if re.search(r"cfg\((windows|not\((unix|target_os = \"linux\")\))\)", before.text.decode()):
                    return True
                before = before.prev_sibling
            node = node.parent
        return False

    def offset(self, place):
        start = self.lines[place["line"] - 1]
        line = self.text[start:self.lines[place["line"]]].decode()
        return start + len(line[:place["column"] - 1].encode())

    def place(self, number, mutant):
        start, end = (self.offset(mutant["span"][end]) for end in ("start", "end"))
        node = self.tree.descendant_for_byte_range(start, end)
        if mutant["genre"] == "FnValue":
            if "impl " in mutant["function"]["return_type"]:
                return False  # Both would have to be of one type.
            while node.type != "function_item":
                node = node.parent
            body = node.child_by_field_name("body")
            self.firsts[body.start_byte + 1].append((number, mutant["replacement"]))
            return True
        if mutant["genre"] == "MatchArm":
            while node.type != "match_arm":
                node = node.parent
            pattern = node.child_by_field_name("pattern")
            if pattern.child_by_field_name("condition"):
                return False
            self.guards[pattern.end_byte] = number
            return True
        if mutant["genre"] in ("BinaryOperator", "UnaryOperator"):
            kinds = ("binary_expression", "unary_expression", "compound_assignment_expr")
            while node.type not in kinds:
                node = node.parent
                if node is None or node.start_byte < start - 10_000:
                    return False
            # The whole expression: another operator may bind its neighbours in another way.
            while node.parent.type in kinds:
                node = node.parent
        elif mutant["genre"] == "MatchArmGuard":
            while node.start_byte > start or node.end_byte < end:
                node = node.parent
            if (node.start_byte, node.end_byte) != (start, end) or "let " in node.text.decode():
                return False
            while node.parent and (node.parent.start_byte, node.parent.end_byte) == (start, end):
                node = node.parent
            if node.type == "match_pattern" or node.type.endswith("let_condition"):
                return False
        else:
            return False
        text = self.text[node.start_byte:start] + mutant["replacement"].encode() + self.text[end:node.end_byte]
        self.others[(node.start_byte, node.end_byte)].append((number, text.decode()))
        return True

    def written(self):
        return self.write(self.tree)

    def write(self, node):
        key = (node.start_byte, node.end_byte)
        others = self.others.pop(key, None)
        plain = self.children(node)
        if node.type == "match_pattern" and node.end_byte in self.guards:
            plain += f" if !{self.switch}({self.guards[node.end_byte]})"
        if others is None:
            return plain
        branches = "".join(f"if {self.switch}({number}) {{ {text} }} else " for number, text in others)
        return f"({branches}{{ {plain} }})"

    def children(self, node):
        text, at = "", node.start_byte
        for child in node.children:
            text += self.between(at, child.start_byte) + self.write(child)
            at = child.end_byte
        return text + self.between(at, node.end_byte)

    def between(self, start, end):
        """Text between two nodes, with what stands at the beginning of a body."""
        firsts = self.firsts.pop(start, None) if end > start or start in self.firsts else None
        plain = self.text[start:end].decode()
        if firsts is None:
            return plain
        return "".join(f" if {self.switch}({number}) {{ return {text}; }}" for number, text in firsts) + plain

    def places(self, written):
        """Where each mutant stands in what was written, as `(start, end, number)` in bytes."""
        found = []
        for match in re.finditer(re.escape(self.switch) + r"\((\d+)\)", written):
            end = match.end()
            depth, at = 0, end
            if written[at:at + 2] == " {":
                # To the brace that ends the branch; braces in texts come in pairs.
                while True:
                    depth += {"{": 1, "}": -1}.get(written[at], 0)
                    at += 1
                    if depth == 0 and written[at - 1] == "}":
                        break
            start = len(written[:match.start()].encode())
            found.append((start, start + len(written[match.start():at].encode()), int(match[1])))
        return found
