import FuzzSupport
import LiveUpdates

/// One mapping for each preset; the first byte of the input chooses.
private let mappings = Preset.allCases.map { preset in
    var settings = EventMapping.Settings(preset: preset.rawValue)
    settings.types = [EventMapping.Translation(from: "updated", to: "changed")]
    guard let mapping = try? EventMapping(settings) else { fatalError("the preset \(preset) is not a mapping") }
    return mapping
}

private let limits = JSONLimits(maximumBytes: 1 << 20, maximumDepth: 8)
private let maximumLineBytes = 2000

private func answers(_ pieces: [[UInt8]], _ mapping: EventMapping) -> [UInt8] {
    let lines = MapLines(mapping, maximumLineBytes: maximumLineBytes)
    var output: [UInt8] = []
    for piece in pieces { lines.consume(piece.span, into: &output) }
    lines.finish(into: &output)
    return output
}

/// `{"account":…,"message":{…}}` or `{"skip":…,"why":…}`, valid JSON whatever came in.
private func check(_ line: [UInt8]) {
    guard let answer = try? JSONDocument(line, limits: limits), let members = answer.root.members else {
        fatalError("an answer is no JSON: \(line)")
    }
    let names = members.map(\.name)
    guard names == ["account", "message"] else {
        require(names == ["skip", "why"], "an answer has other members: \(names)")
        return
    }
    let account = members[0].value.string ?? ""
    require((1...Account.maximumBytes).contains(account.utf8.count), "an account is neither empty nor long")
    let message = members[1].value.members ?? []
    require(message.map(\.name) == ["ent", "id", "type"], "a message has three keys")
    let longest = [
        ThinEvent.maximumEntityBytes, ThinEvent.maximumIdentifierBytes, ThinEvent.maximumTypeBytes,
    ]
    for (member, maximum) in zip(message, longest) {
        require((1...maximum).contains(member.value.string?.utf8.count ?? 0), "a part is neither empty nor long")
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe fuzzInput(start, count)
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    let mapping = mappings[Int(choice) % mappings.count]
    let whole = answers([bytes], mapping)
    for pieces in cuts(of: bytes, seed: bytes.last ?? 0) {
        require(answers(pieces, mapping) == whole, "the cuts change what a record means")
    }
    let lines = whole.split(separator: 0x0A, omittingEmptySubsequences: false)
    let asked = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    let wanted = asked.count - (asked.last?.isEmpty == true ? 1 : 0)
    require(lines.last?.isEmpty != false && max(lines.count - 1, 0) == wanted, "each line has one answer")
    for line in lines.dropLast() { check(Array(line)) }
    return 0
}
