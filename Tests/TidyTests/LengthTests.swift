import Testing

/// A reader can hold it in view.
struct LengthTests {
    static let maximumFileLines = 400
    /// Of a Swift source, which is read more often than a test.
    static let maximumSourceLines = 300
    static let maximumFunctionLines = 70

    @Test func `there is something to check`() {
        #expect(SourceTree.swiftFiles.count > 100)
        #expect(SourceTree.swiftFiles.flatMap { SourceText(code: $0.code).functions }.count > 500)
    }

    @Test func `no file is longer than its limit`() {
        for file in SourceTree.files where file.path.hasSuffix(".swift") || file.path.hasSuffix(".py") || file.isC {
            let limit = file.isSource && !file.isC ? Self.maximumSourceLines : Self.maximumFileLines
            #expect(file.lines.count - 1 <= limit, "\(file)")
        }
    }

    @Test func `no function is longer than a screen`() {
        for file in SourceTree.swiftFiles {
            for function in SourceText(code: file.code).functions {
                #expect(function.lineCount <= Self.maximumFunctionLines, "\(file):\(function.line) \(function.name)")
            }
        }
    }

    @Test func `the length of a function is counted from its declaration to its last brace`() {
        let source = SourceText(
            """
            struct S {
                init(a: Int) { self.a = a }
                func `a name with { and "`(
                    _ x: () -> Void = { }
                ) {
                    let s = "} \\(f("}")) }" // }
                    let r = #"}"# /* } /* } */ } */
                    let m = \"\"\"
                        } " }
                        \"\"\"
                    func inner() {
                    }
                }
                deinit {
                }
            }
            """)
        #expect(source.functions.map(\.lineCount) == [1, 2, 11, 2])
        #expect(source.functions.map(\.line) == [2, 11, 3, 14])
    }
}

extension SourceTree.File {
    var isC: Bool { [".h", ".c", ".cpp"].contains { path.hasSuffix($0) } }
}
