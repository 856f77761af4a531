import CYAML

/// Makes nodes out of libyaml's events.
struct YAMLBuilder: ~Copyable {
    /// What can be read on in spite of: doubled keys, anchors, aliases, tags.
    private(set) var problems: [YAMLProblem] = []
    private let events: YAMLEvents
    /// The way to the node in the making.
    private var path = ""
    private var depth = 0

    init(_ bytes: [UInt8]) {
        events = YAMLEvents(bytes)
    }

    /// The root, or nil for an empty document.
    mutating func document() throws(YAMLProblem) -> YAMLNode? {
        _ = try next()  // The stream starts.
        guard case .documentStart = try next().kind else { return nil }
        let first = try next()
        let root = try node(first)
        _ = try next()  // The document ends.
        let last = try next()
        if case .documentStart = last.kind {
            throw YAMLProblem(line: last.line, key: "", text: "a second document: settings are one document")
        }
        // A document of nothing but comments or a bare `---`.
        if case .text("", .plain) = root.content { return nil }
        return root
    }

    private func next() throws(YAMLProblem) -> YAMLEvents.Event {
        do throws(YAMLProblem) {
            return try events.next()
        } catch {
            throw YAMLProblem(line: error.line, key: path, text: error.text)
        }
    }

    private mutating func node(_ event: YAMLEvents.Event) throws(YAMLProblem) -> YAMLNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= YAMLDocument.maximumDepth else {
            throw YAMLProblem(
                line: event.line, key: path, text: "nested deeper than \(YAMLDocument.maximumDepth) levels")
        }
        if event.hasAnchor { tell(event.line, "an anchor (&): anchors and aliases are not read, write it out") }
        if event.hasTag { tell(event.line, "a tag (!): tags are not read, put text into quotes") }
        switch event.kind {
        case .scalar(let text, let style):
            return YAMLNode(line: event.line, .text(text, style))
        case .alias:
            tell(event.line, "an alias (*): anchors and aliases are not read, write it out")
            return YAMLNode(line: event.line, .refused)
        case .listStart: return YAMLNode(line: event.line, .list(try list()))
        case .mapStart: return YAMLNode(line: event.line, .map(try map()))
        case .documentStart, .end:
            throw YAMLProblem(line: event.line, key: path, text: "a value is missing")
        }
    }

    private mutating func list() throws(YAMLProblem) -> [YAMLNode] {
        let before = path
        defer { path = before }
        var nodes: [YAMLNode] = []
        while true {
            path = "\(before)[\(nodes.count)]"
            let event = try next()
            if case .end = event.kind { return nodes }
            nodes.append(try node(event))
        }
    }

    private mutating func map() throws(YAMLProblem) -> [YAMLEntry] {
        let before = path
        defer { path = before }
        var entries: [YAMLEntry] = []
        var lines: [[UInt8]: Int] = [:]
        while true {
            path = before
            let event = try next()
            if case .end = event.kind { return entries }
            let name = try node(event)
            guard case .text(let key, _) = name.content else {
                if case .refused = name.content {
                    // Told already. The value is read, so that the next key is found.
                    _ = try node(try next())
                    continue
                }
                throw YAMLProblem(line: event.line, key: path, text: "a key that is no text")
            }
            path = before.isEmpty ? key : "\(before).\(key)"
            let value = try node(try next())
            if let line = lines[Array(key.utf8)] {
                path = before.isEmpty ? key : "\(before).\(key)"
                tell(name.line, "stands twice, first in line \(line)")
            } else {
                lines[Array(key.utf8)] = name.line
                entries.append(YAMLEntry(key: key, line: name.line, value: value))
            }
        }
    }

    private mutating func tell(_ line: Int, _ text: String) {
        guard problems.count < YAMLDocument.maximumProblems else { return }
        problems.append(YAMLProblem(line: line, key: path, text: text))
    }
}
