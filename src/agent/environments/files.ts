/**
 * The contract of the files of an environment: what the file tools do, in the same environment as the commands.
 */
import type { ReadOptions } from '../support/files.ts'

/** The caller who reads or writes. The rules of the environment decide what this caller may do. */
export interface FileAccess {
  readonly signal: AbortSignal
  /** An owner causes the call; others write no file that becomes a part of prompts. Default: true. */
  readonly isOwner?: boolean
  /** Files that were sent in the conversation. They lie on the disk of the gateway, wherever commands run. */
  attachments?(): Promise<readonly string[]>
}

export type FileRefusalCode =
  /** The rules of the environment. */
  | 'secret'
  | 'protected'
  | 'hidden'
  | 'outside_sandbox'
  | 'outside_safe_root'
  /** The file. */
  | 'not_found'
  | 'is_directory'
  | 'not_regular_file'
  | 'too_large'
  | 'binary'
  | 'not_utf8'
  /** A link replaced a part of the path meanwhile. */
  | 'changed'
  /** The system of the environment refuses, for example for lack of permission or of space. */
  | 'failed'

export interface FileRefusal {
  readonly ok: false
  readonly code: FileRefusalCode
  /** A sentence for the model. */
  readonly reason: string
}

export type FileResult<Value> = ({ readonly ok: true } & Value) | FileRefusal

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'other'
  /** In bytes. */
  readonly size: number
  /** Permission bits. */
  readonly mode: number
}

export interface DirectoryEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'link' | 'other'
}

/** A search below a directory, or in one file. */
export interface FileSearchRequest {
  /** The path as the model wrote it. */
  readonly path: string
  readonly target: 'content' | 'files'
  /** A regular expression for content, a glob for files. */
  readonly pattern: string
  /** Searches only in files whose name, or whose path from `path`, matches this glob. */
  readonly fileGlob: string | undefined
  /** For content: each line (default), each file once, or how many lines of each file. */
  readonly output?: 'lines' | 'files' | 'counts' | undefined
  /** For lines: so many lines before and after each; they do not count as hits. Default: 0. */
  readonly context?: number | undefined
  /** Maximum number of hits. */
  readonly limit: number
  readonly timeoutMs: number
}

/** `path` begins with the path of the request. `line` is 0 for a whole file. */
export interface FileHit {
  readonly path: string
  readonly line: number
  readonly text: string
  /** With `output: 'counts'`. */
  readonly count?: number | undefined
  /** A line near a hit. Hits and the lines near them come in the order of the file. */
  readonly isContext?: boolean | undefined
}

export type FileSearchResult =
  | {
      readonly ok: true
      readonly hits: readonly FileHit[]
      readonly stopped?: 'limit' | 'timeout' | 'abort' | undefined
    }
  | FileRefusal
  | { readonly ok: false; readonly code: 'invalid_pattern'; readonly reason: string }

/**
 * Paths are as a model writes them: relative to the directory of the environment, absolute, or below `~`, the home of the
 * user in that environment. Symbolic links are followed. Methods reject when the signal aborts and when the environment cannot be
 * reached (`HermesError` `environment/...`); everything else is a refusal.
 */
export interface EnvironmentFiles {
  /** The path as a command in this environment may use it. It may still begin with `~`. */
  resolve(path: string): string
  /**
   * Whether the rules of the environment permit this, before anything is changed. The file may be missing. `path`: where its links lead,
   * if the environment tells it.
   */
  check(
    path: string,
    intent: 'read' | 'write',
    access: FileAccess,
  ): Promise<FileResult<{ readonly path?: string | undefined }>>
  /** `stat` is undefined if nothing is there. */
  stat(path: string, access: FileAccess): Promise<FileResult<{ readonly stat: FileStat | undefined }>>
  /** A regular file of at most `maxBytes`. `length`: at most so many bytes from `offset` on, of a file of any size. */
  read(path: string, options: FileAccess & ReadOptions): Promise<FileResult<{ readonly bytes: Buffer }>>
  /**
   * A reader sees the old or the new content. Keeps the mode, and creates missing directories. `newMode`: permission bits of a
   * file that does not exist yet.
   */
  writeAtomic(
    path: string,
    content: string | Uint8Array,
    access: FileAccess & { readonly newMode?: number },
  ): Promise<FileResult<{ readonly created: boolean }>>
  /** Removes a file; a missing one is refused as `not_found`, a directory as `is_directory`. */
  remove(path: string, access: FileAccess): Promise<FileResult<object>>
  /** At most `limit` entries of a directory, in the order of their names. */
  list(
    path: string,
    options: FileAccess & { readonly limit: number },
  ): Promise<FileResult<{ readonly entries: readonly DirectoryEntry[]; readonly isComplete: boolean }>>
  search(request: FileSearchRequest, access: FileAccess): Promise<FileSearchResult>
}
