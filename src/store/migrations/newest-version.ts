/**
 * The schema version of this program, for code that reads a database and does not need the migrations.
 */

/** The number of migrations. The compiler compares the two. */
export const newestVersion = 19
