/**
 * Reads the log of the gateway: JSON lines in `gateway.log` and its rotated files. The lines have no secrets, because these were
 * removed before the lines were written.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from './errors.ts'
import { asRecord, type JsonObject, parseJson } from './json.ts'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

/** The number of files, with the current one. */
export const keptLogFiles = 7

/** The file that is written, and its rotated files; 1 is the newest of these. */
export function logFilePath(directory: string, generation: number): string {
  return join(directory, generation === 0 ? 'gateway.log' : `gateway.${generation}.log`)
}

export interface LogFilter {
  /** The lowest level. */
  readonly level?: LogLevel | undefined
  /** The name of an event; with `*` at the end, all names that begin so. */
  readonly event?: string | undefined
  /** The keys and ids of one conversation. */
  readonly sessions?: ReadonlySet<string> | undefined
  /** ms since 1970. */
  readonly since?: number | undefined
}

export interface LogLine {
  readonly text: string
  readonly level: LogLevel
  readonly fields: JsonObject
}

/** The fields that name a conversation. */
const sessionFields = ['session', 'sessionKey', 'sessionId', 'session_key', 'session_id'] as const

/** The line if it passes the filter; undefined otherwise, and for what is no line of the log. */
export function matchLogLine(text: string, { level, event, sessions, since }: LogFilter): LogLine | undefined {
  const fields = asRecord(parseJson(text))
  const lineLevel = logLevels.find((name) => name === fields['level'])
  if (lineLevel === undefined) return undefined
  if (level !== undefined && logLevels.indexOf(lineLevel) < logLevels.indexOf(level)) return undefined
  if (event !== undefined && !matchesName(fields['event'], event)) return undefined
  if (since !== undefined && !(Date.parse(String(fields['time'])) >= since)) return undefined
  if (sessions !== undefined && !sessionFields.some((name) => sessions.has(String(fields[name])))) return undefined
  return { text, level: lineLevel, fields }
}

function matchesName(name: unknown, wanted: string): boolean {
  if (typeof name !== 'string') return false
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted
}

/** A line of a file: the position of a page. */
export interface LogPosition {
  readonly inode: string
  readonly line: number
}

export interface LogPage {
  /** The newest first. */
  readonly lines: readonly (LogLine & { readonly position: LogPosition })[]
  readonly hasMore: boolean
}

/** The newest lines that pass the filter, before a position. A file that was removed meanwhile has none. Throws the system's error. */
export function readLogPage(
  directory: string,
  filter: LogFilter,
  limit: number,
  before?: LogPosition | undefined,
): LogPage {
  const lines: (LogLine & { readonly position: LogPosition })[] = []
  let isAfter = before !== undefined
  withOpenFiles(directory, (files) => {
    for (const file of files) {
      const inode = String(file.inode)
      const isHere = before?.inode === inode
      if (isAfter && !isHere) continue
      isAfter = false
      const texts = readLines(file, 0).lines
      for (let number = (isHere ? before.line : texts.length) - 1; number >= 0; number--) {
        if (lines.length > limit) return
        const line = matchLogLine(texts[number] ?? '', filter)
        if (line !== undefined) lines.push({ ...line, position: { inode, line: number } })
      }
    }
  })
  return { lines: lines.slice(0, limit), hasMore: lines.length > limit }
}

export interface LogReader {
  /** The newest lines that pass the filter, the oldest of them first. Throws the system's error. */
  tail(filter: LogFilter, limit: number): readonly LogLine[]
  /**
   * The lines that were written since the last call of `tail` or `readNew`, over rotations. Throws the system's error.
   */
  readNew(filter: LogFilter): readonly LogLine[]
}

/** Where the next read begins: the file, and the position behind its last complete line. */
interface ReadPosition {
  readonly inode: bigint
  readonly offset: number
}

/** The folder may be missing: nothing has been logged then. */
export function createLogReader(directory: string): LogReader {
  let position: ReadPosition | undefined
  return {
    tail(filter, limit) {
      const collected: LogLine[] = []
      position = undefined
      withOpenFiles(directory, (files) => {
        for (const file of files) {
          const { lines, end } = readLines(file, 0)
          position ??= { inode: file.inode, offset: end }
          for (const text of lines.reverse()) {
            if (collected.length === limit) return
            const line = matchLogLine(text, filter)
            if (line !== undefined) collected.push(line)
          }
          if (isOlder(lines.at(-1), filter.since)) return
        }
      })
      return collected.reverse()
    },
    readNew(filter) {
      const added: string[] = []
      withOpenFiles(directory, (files) => {
        const known = files.findIndex(({ inode }) => inode === position?.inode)
        // A file that is gone was rotated away, so that everything in the others is new. Before the first line there is no file.
        const newer = files.slice(0, known === -1 ? files.length : known + 1).reverse()
        for (const file of newer) {
          const { lines, end } = readLines(file, file.inode === position?.inode ? position.offset : 0)
          added.push(...lines)
          position = { inode: file.inode, offset: end }
        }
      })
      return added.flatMap((text) => matchLogLine(text, filter) ?? [])
    },
  }
}

function isOlder(text: string | undefined, since: number | undefined): boolean {
  return text !== undefined && since !== undefined && Date.parse(String(asRecord(parseJson(text))['time'])) < since
}

interface OpenFile {
  readonly descriptor: number
  readonly inode: bigint
}

/** Opened from the newest to the oldest, so that a rotation meanwhile shows a file twice and hides none. */
function withOpenFiles(directory: string, read: (files: readonly OpenFile[]) => void): void {
  const files: OpenFile[] = []
  try {
    for (let generation = 0; generation < keptLogFiles; generation++) {
      const descriptor = openIfExists(logFilePath(directory, generation))
      if (descriptor === undefined) continue
      const inode = fstatSync(descriptor, { bigint: true }).ino
      if (files.some((file) => file.inode === inode)) closeSync(descriptor)
      else files.push({ descriptor, inode })
    }
    read(files)
  } finally {
    for (const { descriptor } of files) closeSync(descriptor)
  }
}

function openIfExists(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

/** The complete lines behind the offset, and the position behind them. */
function readLines({ descriptor }: OpenFile, offset: number): { readonly lines: string[]; readonly end: number } {
  const size = Math.max(0, fstatSync(descriptor).size - offset)
  const bytes = Buffer.alloc(size)
  let filled = 0
  while (filled < size) {
    const count = readSync(descriptor, bytes, filled, size - filled, offset + filled)
    if (count === 0) break
    filled += count
  }
  const length = bytes.subarray(0, filled).lastIndexOf('\n') + 1
  const lines = bytes.toString('utf8', 0, length).split('\n')
  lines.pop()
  return { lines, end: offset + length }
}
