#pragma once
#include <sqlite3.h>

/// `SQLITE_TRANSIENT`, a cast that is not imported: SQLite copies what is bound.
static inline sqlite3_destructor_type livegate_sqlite_transient(void) { return SQLITE_TRANSIENT; }

/// The corresponding C function is sqlite3_db_config(SQLITE_DBCONFIG_DEFENSIVE, 1), whose arguments are variadic: no statement
/// can damage the file's structure.
static inline int livegate_sqlite_defend(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}
