import Foundation

/// The files of the repository, by their paths from its root.
struct SourceTree {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    struct File: Sendable, CustomStringConvertible {
        let path: String
        let text: String
        /// Its code line by line, if it is Swift.
        let code: [String]
        var description: String { path }

        init(path: String, text: String) {
            self.path = path
            self.text = text
            code = path.hasSuffix(".swift") ? SourceText(text).code : []
        }

        var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
        /// The folder below `Sources` or `Tests`: the name of the target for most.
        var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
        var isSource: Bool { path.hasPrefix("Sources/") }
    }

    /// Every text file below `Sources`, `Tests` and `deploy`, and those of the root and `.ci`. A file that is not UTF-8
    /// is none; records that others wrote are theirs, and what a fuzzer found is nobody's text.
    static let files: [File] = {
        let names = ["Sources", "Tests", "deploy", ".ci", "Package.swift", "README.md"]
        return names.flatMap { name -> [File] in
            let url = root.appendingPathComponent(name)
            let isFolder = (try? url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory) ?? false
            let below =
                isFolder ? FileManager.default.subpaths(atPath: url.path)?.map { "\(name)/\($0)" } : nil
            return (below ?? [name]).sorted().compactMap { path in
                guard !path.contains("/__pycache__/"), !path.contains("/Records/"), !path.contains("/Fuzz/Corpus/")
                else { return nil }
                return (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)).map {
                    File(path: path, text: $0)
                }
            }
        }
    }()

    static let readme = files.first { $0.path == "README.md" }?.text ?? ""

    static let swiftFiles = files.filter { $0.path.hasSuffix(".swift") }

    /// What stands in the root, without dot files.
    static var topLevel: Set<String> {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
        return Set(all.filter { !$0.hasPrefix(".") })
    }
}
