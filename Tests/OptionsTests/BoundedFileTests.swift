import Foundation
import Testing

@testable import Options

struct BoundedFileTests {
    @Test(arguments: [
        ("/nonexistent/key.pem", "No such file or directory"), ("/", "Is a directory"),
        ("/dev/zero", "larger than the limit of 1048576 bytes"),
    ])
    func `a file that is not there, is a folder or has no end is unreadable`(_ path: String, _ reason: String) {
        #expect(throws: BoundedFile.Unreadable(path: path, reason: reason, isMissing: path.contains("nonexistent"))) {
            try BoundedFile.read(path, maximumBytes: 1 << 20)
        }
    }

    @Test(arguments: [0, 1, 4_096, 4_097])
    func `a file of exactly the limit is read whole, and no byte more`(count: Int) throws {
        let path = "\(NSTemporaryDirectory())livegate-\(UUID())"
        try Data(repeating: 7, count: count).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try BoundedFile.read(path, maximumBytes: count) == [UInt8](repeating: 7, count: count))
        guard count > 0 else { return }
        #expect(throws: BoundedFile.Unreadable(path: path, reason: "larger than the limit of \(count - 1) bytes")) {
            try BoundedFile.read(path, maximumBytes: count - 1)
        }
    }

    /// A folder with a file and a link to it.
    private func folder(_ mode: Int, file: Int) throws -> String {
        let folder = "\(NSTemporaryDirectory())livegate-\(UUID())"
        let files = FileManager.default
        try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data("x".utf8).write(to: URL(fileURLWithPath: folder + "/file"))
        try files.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "file")
        try files.setAttributes([.posixPermissions: file], ofItemAtPath: folder + "/file")
        try files.setAttributes([.posixPermissions: mode], ofItemAtPath: folder)
        return folder
    }

    @Test func `a link is refused where it may be somebody else's`() throws {
        let folder = try folder(0o700, file: 0o600)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(try BoundedFile.read(folder + "/link", maximumBytes: 9) == Array("x".utf8))
        #expect(try BoundedFile.read(folder + "/file", maximumBytes: 9, followsLinks: false) == Array("x".utf8))
        let error = #expect(throws: BoundedFile.Unreadable.self) {
            try BoundedFile.read(folder + "/link", maximumBytes: 9, followsLinks: false)
        }
        #expect(error?.reason == "Too many levels of symbolic links" && error?.isMissing == false)
    }

    @Test(arguments: [
        (0o755, 0o644, true), (0o711, 0o604, true), (0o755, 0o640, false), (0o750, 0o644, false), (0o700, 0o666, false),
    ])
    func `a file is open to all by its own mode and by those of its folders`(_ mode: Int, _ file: Int, _ isOpen: Bool)
        throws
    {
        let folder = try folder(mode, file: file)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["file", "link"] { #expect(BoundedFile.isOpenToAll("\(folder)/\(name)") == isOpen, "\(name)") }
        #expect(!BoundedFile.isOpenToAll(folder + "/none"))
    }
}
