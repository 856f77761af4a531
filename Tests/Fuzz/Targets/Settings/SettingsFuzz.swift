import FuzzSupport
import GatewaySettings
import YAML

private func check(_ element: YAMLElement, depth: Int, lines: Int) {
    require(depth <= YAMLDocument.maximumDepth, "the limit on depth holds")
    require((1...lines).contains(element.line), "an element stands in one of the lines")
    switch element.content {
    case .text, .refused: break
    case .list(let elements):
        for element in elements { check(element, depth: depth + 1, lines: lines) }
    case .map(let entries):
        require(Set(entries.map { Array($0.key.utf8) }).count == entries.count, "no key stands twice in a map")
        for entry in entries { check(entry.value, depth: depth + 1, lines: lines) }
    }
}

/// Defaults are kept for good, in enumerations that have the bits of their case in their pointers: the leak checker does not see
/// that these point at anything.
@_cdecl("__lsan_default_suppressions")
package func keptForGood() -> UnsafePointer<CChar> {
    let text: StaticString = "leak:DefaultTexts\n"
    return unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = unsafe fuzzInput(start, count)
    // YAML ends lines with CR and U+0085 too, so this is a bound and no count.
    let lines = count + 1
    let (root, problems) = YAMLDocument.read(bytes)
    for problem in problems {
        require((0...lines).contains(problem.line) && !problem.text.isEmpty, "a problem has a place and a text")
    }
    guard let root else { return 0 }
    check(root, depth: 1, lines: lines)
    let outcome = Settings.load(text: bytes, file: "fuzz.yaml")
    require(
        (outcome.settings == nil) == outcome.problems.contains { !$0.isWarning },
        "settings are there exactly where nothing is wrong")
    for problem in outcome.problems {
        require(!problem.description.unicodeScalars.contains { $0.value < 0x20 }, "a problem is one line")
    }
    return 0
}
