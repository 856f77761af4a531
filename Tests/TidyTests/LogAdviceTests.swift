import Testing

/// Whoever reads a warning or an error at night learns from the line itself what to do.
struct LogAdviceTests {
    /// A call of a logger that says one of these: where it stands, and its text.
    static let calls: [(place: String, text: String)] = SourceTree.swiftFiles.filter {
        $0.isSource && ["Gateway", "livegate"].contains($0.target)
    }.flatMap { file in
        file.text.ranges(of: /logger\.(warning|error|critical)\(/).map { range in
            var depth = 1
            let rest = file.text[range.upperBound...].prefix { character in
                depth += character == "(" ? 1 : character == ")" ? -1 : 0
                return depth > 0
            }
            let line = file.text[..<range.lowerBound].count { $0.isNewline } + 1
            return ("\(file.path):\(line)", String(rest))
        }
    }

    /// What a sentence begins with that says it itself.
    static let orders = ["; raise ", "; try ", ": raise ", "; see ", "; report it"]

    @Test func `a line of warning or error tells what to do`() {
        #expect(Self.calls.count > 10)
        for call in Self.calls {
            let says =
                call.text.contains(".advice:") || Self.orders.contains { call.text.contains($0) }
                || call.text.contains("Self.sentence(")
            #expect(says, "\(call.place): add .advice to its facts, or say it in the sentence")
        }
    }
}
