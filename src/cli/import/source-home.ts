/**
 * Reads another home without writing to it. A link that leads out of the home is not followed: a home may come from another person,
 * and what it points to was not meant to be part of it.
 */

import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseDotenv } from '../../config/dotenv.ts'
import { messageOf, systemCode } from '../../lib/errors.ts'
import { isWithin } from '../../lib/files.ts'
import { parseJson } from '../../lib/json.ts'
import type { FolderFile, ImportArea, ImportEntry } from './contract.ts'

export type FileResult = { readonly bytes: Uint8Array } | { readonly problem: string } | undefined
export type TextResult = { readonly text: string } | { readonly problem: string } | undefined

export interface SourceHome {
  /** The real path. */
  readonly root: string
  pathOf(relative: string): string
  /** Undefined for a file that does not exist. Never throws. */
  bytes(relative: string, maxBytes?: number): FileResult
  /** Reads like `bytes`, for UTF-8 text without a byte order mark. */
  text(relative: string, maxBytes?: number): TextResult
  /** The names in a folder, sorted; empty when it does not exist or cannot be read. */
  names(relative: string): readonly string[]
  kindOf(relative: string): 'file' | 'folder' | 'other' | 'outside' | 'missing'
  /** The files of a folder, without what package managers and version control put there. */
  folder(relative: string): FolderResult
}

export interface FolderResult {
  readonly files: ReadonlyMap<string, FolderFile>
  /** What was left out, for people; '' for nothing. */
  readonly omitted: string
  /** Why the folder cannot be taken; '' if it can. */
  readonly problem: string
}

const mib = 1024 * 1024
const maxTextBytes = 4 * mib
const maxFolderFiles = 2_000
const maxFolderBytes = 64 * mib
const skippedNames = new Set(['node_modules', '.git', '__pycache__', '.venv', 'venv', '.DS_Store'])

/** @param root an existing folder. Throws the system's error. */
export function openSourceHome(root: string): SourceHome {
  const real = realpathSync.native(root)
  const pathOf = (relative: string) => join(real, relative)

  /** The status of what is at a path within the home, after links. */
  function inspect(relative: string): Stats | 'outside' | 'missing' {
    try {
      const path = realpathSync.native(pathOf(relative))
      return isWithin(path, real) ? statSync(path) : 'outside'
    } catch (error) {
      if (isMissing(error)) return isDanglingLink(pathOf(relative)) ? 'outside' : 'missing'
      throw error
    }
  }

  function bytes(relative: string, maxBytes = maxTextBytes): FileResult {
    try {
      const stats = inspect(relative)
      if (stats === 'missing') return undefined
      if (stats === 'outside') return { problem: 'it is a link that leads out of the home; copy what it points to' }
      if (!stats.isFile()) return { problem: 'it is not a regular file' }
      if (stats.size > maxBytes) return { problem: `it is larger than ${Math.floor(maxBytes / mib)} MB` }
      return { bytes: readFileSync(pathOf(relative)) }
    } catch (error) {
      return { problem: systemCode(error) === 'EACCES' ? 'this user may not read it' : messageOf(error) }
    }
  }

  const kindOf: SourceHome['kindOf'] = (relative) => {
    try {
      const stats = inspect(relative)
      if (typeof stats === 'string') return stats
      return stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other'
    } catch {
      return 'other'
    }
  }

  return {
    root: real,
    pathOf,
    bytes,
    kindOf,
    text(relative, maxBytes) {
      const file = bytes(relative, maxBytes)
      if (file === undefined || 'problem' in file) return file
      try {
        return { text: new TextDecoder('utf-8', { fatal: true }).decode(file.bytes) }
      } catch {
        return { problem: 'it is not UTF-8 text' }
      }
    },
    names(relative) {
      if (kindOf(relative) !== 'folder') return []
      try {
        return readdirSync(pathOf(relative)).sort()
      } catch {
        return []
      }
    },
    folder: (relative) => readFolder(pathOf(relative)),
  }
}

function isMissing(error: unknown): boolean {
  return systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR'
}

function isDanglingLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

function readFolder(root: string): FolderResult {
  const files = new Map<string, FolderFile>()
  const omitted: string[] = []
  let total = 0
  const visit = (folder: string, prefix: string): string => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (skippedNames.has(entry.name)) continue
      const path = join(folder, entry.name)
      const relative = `${prefix}${entry.name}`
      if (entry.isDirectory()) {
        const problem = visit(path, `${relative}/`)
        if (problem !== '') return problem
      } else if (!entry.isFile()) omitted.push(relative)
      else {
        const { size, mode } = statSync(path)
        total += size
        if (total > maxFolderBytes) return `it has more than ${maxFolderBytes / mib} MB`
        if (files.size >= maxFolderFiles) return `it has more than ${maxFolderFiles} files`
        files.set(relative, { content: readFileSync(path), isExecutable: (mode & 0o100) !== 0 })
      }
    }
    return ''
  }
  try {
    const problem = visit(root, '')
    return { files, omitted: omitted.length === 0 ? '' : `without links: ${omitted.sort().join(', ')}`, problem }
  } catch (error) {
    const problem = systemCode(error) === 'EACCES' ? 'this user may not read all of it' : messageOf(error)
    return { files, omitted: '', problem }
  }
}

export type JsonResult = { readonly value: unknown } | { readonly problem: string } | undefined

/** A JSON file of another home. Undefined for a file that does not exist. */
export function readJsonFile(source: SourceHome, name: string, maxBytes?: number): JsonResult {
  const file = source.text(name, maxBytes)
  if (file === undefined || 'problem' in file) return file
  const value = parseJson(file.text)
  return value === undefined ? { problem: 'it is not JSON' } : { value }
}

/** The text of a file; undefined when there is none, and with an entry when it cannot be read. */
export function readText(
  source: SourceHome,
  area: ImportArea,
  name: string,
  entries: ImportEntry[],
): string | undefined {
  const file = source.text(name)
  if (file === undefined) return undefined
  if ('text' in file) return file.text
  entries.push(failed(area, name, file.problem))
  return undefined
}

/** The variables of `.env`; empty when there is none. */
export function readDotenv(source: SourceHome, entries: ImportEntry[]): ReturnType<typeof parseDotenv>['entries'] {
  const { entries: variables, issues } = parseDotenv(readText(source, 'variables', '.env', entries) ?? '')
  for (const { line } of issues) entries.push(failed('variables', `.env line ${line}`, 'it is not NAME=value'))
  return variables
}

export function failed(area: ImportArea, name: string, reason: string): ImportEntry {
  return { area, name, result: 'failed', reason }
}

export function left(area: ImportArea, name: string, reason: string): ImportEntry {
  return { area, name, result: 'left', reason }
}
