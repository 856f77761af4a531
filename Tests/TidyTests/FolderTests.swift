import Testing

/// The folders of a target stand in an order: none uses, directly or by way of others, a folder that uses it.
struct FolderTests {
    /// A type that one folder declares and another one names.
    struct Use: Equatable, CustomStringConvertible {
        let from: String
        let to: String
        let type: String
        let file: String
        let declaringFile: String

        var description: String { "\(file) uses \(type) of \(declaringFile)" }
    }

    @Test func `the folders of a target have no cycle`() {
        let files = SourceTree.swiftFiles.filter(\.isSource)
        for target in Set(files.map(\.target)).sorted() {
            let cycle = Self.shortestCycle(Self.uses(among: files.filter { $0.target == target }))
            #expect(cycle.isEmpty, "\(target): \(cycle.map(\.description).joined(separator: "; "))")
        }
    }

    /// Every use of a folder's types in another folder of the same target, one for each file and type.
    ///
    /// Types inside others are left out, since their names need not differ. So is whatever a file declares for itself.
    static func uses(among files: [SourceTree.File]) -> [Use] {
        var declaring: [String: SourceTree.File] = [:]
        for file in files {
            for name in SourceText(code: file.code).outerTypes { declaring[name] = file }
        }
        return files.flatMap { file -> [Use] in
            let source = SourceText(code: file.code)
            return source.names.subtracting(source.declaredTypes).sorted().compactMap { name in
                guard let declared = declaring[name], declared.folder != file.folder else { return nil }
                return Use(
                    from: file.folder, to: declared.folder, type: name, file: file.path, declaringFile: declared.path)
            }
        }
    }

    /// A shortest way from a folder back to itself; empty when there is none.
    static func shortestCycle(_ uses: [Use]) -> [Use] {
        var shortest: [Use] = []
        for start in Set(uses.map(\.from)).sorted() {
            var seen: Set<String> = []
            var ways: [[Use]] = uses.filter { $0.from == start }.map { [$0] }
            while let way = ways.first(where: { $0.last?.to == start }) ?? ways.first {
                ways.removeAll { $0 == way }
                guard let last = way.last else { break }
                if last.to == start {
                    if shortest.isEmpty || way.count < shortest.count { shortest = way }
                    break
                }
                guard seen.insert(last.to).inserted else { continue }
                ways += uses.filter { $0.from == last.to && !seen.contains($0.to) }.map { way + [$0] }
            }
        }
        return shortest
    }

    // MARK: - The check itself

    static func files(_ texts: [(path: String, text: String)]) -> [SourceTree.File] {
        texts.map { SourceTree.File(path: "Sources/T/\($0.path)", text: $0.text) }
    }

    @Test(arguments: [
        ("B()", "A()", 2),
        ("B()", "print(1)", 0),
        // Comments, strings, members and what a file declares itself are no uses.
        ("B()", "print(\"A\") // A", 0), ("B()", "x.A()", 0), ("B()", "struct A {}", 0),
        // What stands inside a string as code is one.
        ("B()", #""\(A())""#, 2),
    ])
    func `a cycle of two folders is found, and only a true one`(inA: String, inB: String, length: Int) {
        let files = Self.files([
            ("a/A.swift", "struct A {\n    func f() { \(inA) }\n}\n"),
            ("b/B.swift", "struct B {\n    func f() { \(inB) }\n}\n"),
        ])
        #expect(Self.shortestCycle(Self.uses(among: files)).count == length)
    }

    @Test func `a cycle is told with its files, the shortest one, and the target's own files are a folder`() {
        let files = Self.files([
            ("Root.swift", "struct Root { var a: A }\n"), ("a/A.swift", "struct A { var b: B; private enum R {} }\n"),
            ("b/B.swift", "struct B { var c: C }\n"), ("c/C.swift", "enum C { case a(Root) }\n"),
        ])
        let cycle = Self.shortestCycle(Self.uses(among: files))
        #expect(cycle.count == 4)
        #expect(
            cycle.map(\.description).contains("Sources/T/c/C.swift uses Root of Sources/T/Root.swift"), "\(cycle)")
        #expect(Self.shortestCycle(Self.uses(among: Array(files.dropLast()))).isEmpty)
    }
}

extension SourceTree.File {
    /// The folder that it lies in, `Sources/Gateway/Ingest`.
    var folder: String { path.split(separator: "/").dropLast().joined(separator: "/") }
}

extension SourceText {
    /// Types and type aliases that are declared in no other type, without those that are private.
    var outerTypes: Set<String> {
        var names: Set<String> = []
        var depth = 0
        for line in code {
            if depth == 0, !line.contains(/^\s*(?:@\w+\s+)*(?:file)?private\s/), let name = Self.declaredType(line) {
                names.insert(name)
            }
            for byte in line.utf8 {
                if byte == UInt8(ascii: "{") { depth += 1 }
                if byte == UInt8(ascii: "}") { depth -= 1 }
            }
        }
        return names
    }

    /// Types that are declared anywhere in the file.
    var declaredTypes: Set<String> { Set(code.compactMap(Self.declaredType)) }

    private static func declaredType(_ line: String) -> String? {
        guard line.mentions("struct ", "class ", "enum ", "protocol ", "actor ", "typealias ") else { return nil }
        return line.firstMatch(of: /\b(?:struct|class|enum|protocol|actor|typealias)\s+([A-Z]\w*)/).map { String($0.1) }
    }

    /// Every name with a capital that stands in the code, but for those behind a dot.
    var names: Set<String> {
        var names: Set<String> = []
        for line in code where !line.hasPrefix("import ") {
            let bytes = Array(line.utf8)
            var start = 0
            while start < bytes.count {
                guard Self.isNameByte(bytes[start]) else {
                    start += 1
                    continue
                }
                let end = bytes[start...].firstIndex { !Self.isNameByte($0) } ?? bytes.count
                let isMember = start > 0 && bytes[start - 1] == UInt8(ascii: ".")
                if !isMember, (0x41...0x5A).contains(bytes[start]) {
                    names.insert(String(decoding: bytes[start..<end], as: UTF8.self))
                }
                start = end
            }
        }
        return names
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
        default: false
        }
    }
}
