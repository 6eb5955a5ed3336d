/**
 * What the two ways of searching, ripgrep and plain Node, have in common.
 */

export interface SearchRequest {
  /** A folder or a file: absolute, real, existing. */
  readonly root: string
  readonly target: 'content' | 'files'
  /** A regular expression for content, a glob for files. */
  readonly pattern: string
  /** Searches only in files whose name, or whose path from the root, matches this glob. */
  readonly fileGlob: string | undefined
  /** Stops after so many hits. */
  readonly limit: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Files this says no to are left out. Takes the absolute path. */
  mayRead(path: string): boolean
}

/** `line` is 0 for a file found by its name. */
export interface SearchHit {
  readonly path: string
  readonly line: number
  readonly text: string
}

export type SearchResult =
  | { readonly ok: true; readonly hits: readonly SearchHit[]; readonly stopped?: 'limit' | 'timeout' | 'abort' }
  /** The pattern cannot be used; `reason` says why. */
  | { readonly ok: false; readonly reason: string }

/** Never looked into: large, and made by tools. */
export const skippedDirectories = ['.git', 'node_modules'] as const

export const maxLineChars = 400
