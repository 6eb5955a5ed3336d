/**
 * The streams of a terminal, a pipe or a test.
 */
/** `process.stdin` or a substitute. */
export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean }

/** `process.stdout`, `process.stderr` or a substitute. */
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
