import FuzzSupport
import LiveUpdates

private let limits = JSONLimits(maximumBytes: 1 << 16, maximumDepth: 64)

/// Looks at every value, and reads each again from its own text.
private func walk(_ value: JSONValue, depth: Int) {
    require(depth <= limits.maximumDepth + 1, "the limit on depth holds")
    if let text = value.string { require(value.kind == .string && !text.utf8.contains(0xFF), "a string is text") }
    if let integer = value.integer { require(value.kind == .number, "\(integer) is a number") }
    for element in value.elements ?? [] { walk(element, depth: depth + 1) }
    for (name, member) in value.members ?? [] {
        if let name, value.repeatedMember == nil {
            require((try? value.member(name)) != nil, "a member is found by its name")
        }
        walk(member, depth: depth + 1)
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = unsafe fuzzInput(start, count)
    guard let document = try? JSONDocument(bytes, limits: limits) else { return 0 }
    require(String(validating: bytes, as: UTF8.self) != nil, "what was read is UTF-8")
    walk(document.root, depth: 1)
    return 0
}
