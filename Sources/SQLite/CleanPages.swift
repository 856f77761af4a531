import CSQLite
import Locks

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Keeps the pages of files free of bytes of deleted rows.
///
/// `PRAGMA secure_delete` overwrites rows that are deleted, and pages that are freed. But where SQLite moves rows from page to
/// page, their bytes stay in the unallocated space of the old page. It is between the page's array of cell pointers and its
/// first cell (sqlite.org/fileformat2.html#b_tree_pages), and no reader uses it. A file that is opened by ``vfs`` has zeros
/// there in each page that is written, and in each that is read, so that no old bytes enter the log.
/// ``Database/cleanPages(from:)`` overwrites what was written without it. It is not for files in mapped memory (`PRAGMA
/// mmap_size`), which are not read by calls.
enum CleanPages {
    /// The system's own methods for files (sqlite.org/vfs.html), except those that read and write.
    static let vfs = "livegate-clean"

    /// SQLite's answer to the registration of ``vfs``, which happens at the first use.
    static let registration: Int32 = {
        guard let system = unsafe sqlite3_vfs_find(nil) else { return SQLITE_ERROR }
        let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe own.initialize(to: system.pointee)
        unsafe own.pointee.pNext = nil
        unsafe own.pointee.zName = UnsafePointer(strdup(vfs))
        unsafe own.pointee.xOpen = { _, path, file, flags, opened in
            unsafe CleanPages.open(path, file, flags, opened)
        }
        return unsafe sqlite3_vfs_register(own, 0)
    }()

    /// The bytes of a page that belong to no row; nil: the page has no texts, or is damaged.
    ///
    /// A page without a type of its own is never mistaken for one with rows. Overflow and free pages begin with a page's
    /// number, which is below 2^25 (256 GB of 8,192 bytes each). Those of auto-vacuum begin with a 5, or with a 2 and four
    /// zeros (sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages).
    static func unallocated(_ page: Span<UInt8>, isFirst: Bool) -> Range<Int>? {
        // The first page begins with the file's header.
        let header = isFirst ? 100 : 0
        guard page.count >= 512 else { return nil }
        let headerBytes: Int
        func number(at offset: Int) -> Int { Int(page[header + offset]) << 8 | Int(page[header + offset + 1]) }
        let cells = number(at: 3)
        switch page[header] {
        // An inner page of an index, with at least one row.
        case 2 where cells > 0: headerBytes = 12
        // A leaf of an index or a table, with its rows. Inner pages of a table begin with a 5, and have only numbers.
        case 10, 13: headerBytes = 8
        default: return nil
        }
        let start = header + headerBytes + 2 * cells
        let content = number(at: 5)
        let end = content == 0 ? 65_536 : content
        guard start <= end, end <= page.count else { return nil }
        return start..<end
    }

    // MARK: - Methods

    /// The methods of files, by the address of the system's: a pair of those with ``read(_:_:_:_:)`` and ``write(_:_:_:_:)``,
    /// and the system's own.
    private static let pairs = Lock<[UInt: UInt]>([:])

    private static func open(
        _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
        _ opened: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let system = unsafe sqlite3_vfs_find(nil), let open = unsafe system.pointee.xOpen else {
            return SQLITE_CANTOPEN
        }
        let code = unsafe open(system, path, file, flags, opened)
        // Not for the log: it is written by frames, and begins again from its start.
        guard code == SQLITE_OK, flags & SQLITE_OPEN_MAIN_DB != 0, let file = unsafe file,
            let methods = unsafe file.pointee.pMethods
        else { return code }
        unsafe file.pointee.pMethods = pair(of: methods)
        return code
    }

    private static func pair(of methods: UnsafePointer<sqlite3_io_methods>) -> UnsafePointer<sqlite3_io_methods>? {
        let address = pairs.withLock { pairs in
            let key = UInt(bitPattern: methods)
            if let known = pairs[key] { return known }
            let pair = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 2)
            unsafe pair.initialize(repeating: methods.pointee, count: 2)
            unsafe pair[0].xRead = { file, bytes, count, offset in
                unsafe CleanPages.read(file, bytes, count, offset)
            }
            unsafe pair[0].xWrite = { file, bytes, count, offset in
                unsafe CleanPages.write(file, bytes, count, offset)
            }
            let address = UInt(bitPattern: pair)
            pairs[key] = address
            return address
        }
        return unsafe UnsafePointer(bitPattern: address)
    }

    /// The system's methods of a file that was opened by ``vfs``.
    static func systemMethods(_ file: UnsafeMutablePointer<sqlite3_file>) -> sqlite3_io_methods? {
        guard let methods = unsafe file.pointee.pMethods else { return nil }
        let isPair = pairs.withLock { pairs in pairs.values.contains(UInt(bitPattern: methods)) }
        return isPair ? unsafe methods[1] : nil
    }

    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        // Every file with this method has a pair of them.
        guard let file = unsafe file, let bytes = unsafe bytes, let read = unsafe file.pointee.pMethods?[1].xRead
        else { return SQLITE_IOERR }
        let code = unsafe read(file, bytes, count, offset)
        guard code == SQLITE_OK, let space = unsafe space(of: bytes, count, offset) else { return code }
        unsafe memset(bytes + space.lowerBound, 0, space.count)
        return code
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        // Every file with this method has a pair of them.
        guard let file = unsafe file, let bytes = unsafe bytes,
            let write = unsafe file.pointee.pMethods?[1].xWrite
        else { return SQLITE_IOERR }
        guard let space = unsafe space(of: bytes, count, offset) else {
            return unsafe write(file, bytes, count, offset)
        }
        return unsafe withUnsafeTemporaryAllocation(byteCount: Int(count), alignment: 16) { copy in
            guard let start = copy.baseAddress else { return SQLITE_NOMEM }
            unsafe memcpy(start, bytes, Int(count))
            unsafe memset(start + space.lowerBound, 0, space.count)
            return unsafe write(file, start, count, offset)
        }
    }

    /// The space in a whole page: SQLite reads and writes a file by pages, except for some bytes of its header.
    private static func space(of bytes: UnsafeRawPointer, _ count: Int32, _ offset: Int64) -> Range<Int>? {
        guard count > 0, offset % Int64(count) == 0 else { return nil }
        let page = unsafe UnsafeBufferPointer(start: bytes.assumingMemoryBound(to: UInt8.self), count: Int(count))
        let space = unsafe unallocated(page.span, isFirst: offset == 0)
        return space?.isEmpty == true ? nil : space
    }
}

extension Database {
    /// The pages that ``cleanPages(from:)`` reads in one call.
    package static let pagesOfStep = 64

    /// sqlite.org/walformat.html#locks: only the holder of this lock writes the log into the file.
    private static let checkpointLock: Int32 = 1

    /// Overwrites what rows have left behind in some of the file's pages, counted from 0. Returns the page to go on with; nil:
    /// that was the last one, and the disk has it.
    ///
    /// Others may read and write meanwhile: it writes only bytes that belong to no row, and no page of the log. Checkpoints of
    /// others wait or are refused meanwhile. Pages that are added to the file later are clean.
    ///
    /// - Throws: `SQLITE_BUSY` where a checkpoint is being made; then it is to be repeated.
    package func cleanPages(from first: Int) throws(SQLiteError) -> Int? {
        guard case .integer(let pageBytes) = try rows("PRAGMA page_size").first?.first else { return nil }
        return try unsafe holdingCheckpoints { (file, methods) throws(SQLiteError) in
            guard let size = unsafe methods.xFileSize, let sync = unsafe methods.xSync else { return nil }
            var bytes: Int64 = 0
            try check(unsafe size(file, &bytes))
            let pages = Int(bytes / pageBytes)
            let end = min(pages, first + Self.pagesOfStep)
            if first < end { try check(unsafe clean(file, methods, first..<end, pageBytes: Int(pageBytes))) }
            guard end >= pages else { return end }
            // This includes pages that an earlier process has overwritten.
            try check(unsafe sync(file, SQLITE_SYNC_NORMAL))
            return nil
        }
    }

    /// Uses the file while no other connection writes the log into it.
    func holdingCheckpoints<Value>(
        _ body: (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value {
        var found: UnsafeMutablePointer<sqlite3_file>?
        unsafe _ = sqlite3_file_control(handle.pointer, nil, SQLITE_FCNTL_FILE_POINTER, &found)
        guard let file = unsafe found, let methods = unsafe CleanPages.systemMethods(file),
            let lock = unsafe methods.xShmLock
        else { preconditionFailure("the file was opened without cleansPages") }
        try check(unsafe lock(file, Self.checkpointLock, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE))
        defer { unsafe _ = lock(file, Self.checkpointLock, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE) }
        return try unsafe body(file, methods)
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code != SQLITE_OK else { return }
        throw SQLiteError(code: code, message: unsafe String(cString: sqlite3_errstr(code)), statement: nil)
    }

    private func clean(
        _ file: UnsafeMutablePointer<sqlite3_file>, _ methods: sqlite3_io_methods, _ numbers: Range<Int>, pageBytes: Int
    ) -> Int32 {
        guard let read = unsafe methods.xRead, let write = unsafe methods.xWrite else { return SQLITE_IOERR }
        return unsafe withUnsafeTemporaryAllocation(byteCount: numbers.count * pageBytes, alignment: 16) { buffer in
            let start = Int64(numbers.lowerBound * pageBytes)
            var code = unsafe read(file, buffer.baseAddress, Int32(buffer.count), start)
            guard code == SQLITE_OK else { return code }
            for number in numbers {
                let offset = number * pageBytes
                let page = unsafe UnsafeRawBufferPointer(buffer)[
                    (offset - Int(start))..<(offset - Int(start) + pageBytes)]
                let bytes = unsafe Array(page)
                guard let space = CleanPages.unallocated(bytes.span, isFirst: number == 0),
                    bytes[space].contains(where: { $0 != 0 })
                else { continue }
                let zeros = [UInt8](repeating: 0, count: space.count)
                code = unsafe write(file, zeros, Int32(zeros.count), Int64(offset + space.lowerBound))
                guard code == SQLITE_OK else { return code }
            }
            return SQLITE_OK
        }
    }
}
