/**
 * Reads MEMORY.md and USER.md. Both are files of the owner, who may edit them, and may keep them elsewhere behind a link.
 */
import { lstatSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, systemCode } from '../../lib/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { maxScannedChars } from '../context-files/scan.ts'
import type { MemoryTarget } from './contract.ts'
import { memoryFileNames, parseEntries } from './entries.ts'

export type MemoryFile =
  /** `path` is the real path, also of a file that does not exist; it has no entries. */
  | { readonly ok: true; readonly path: string; readonly text: string; readonly entries: readonly string[] }
  /** `reason` is a clause about the file. */
  | { readonly ok: false; readonly reason: string }

const maxFileBytes = 4 * maxScannedChars

/** Never throws. @param directory `$HERMES_HOME/memories` */
export function readMemory(directory: string, target: MemoryTarget): MemoryFile {
  try {
    const path = realPathOf(join(directory, memoryFileNames[target]))
    const text = readTextIfExists(path, maxFileBytes) ?? ''
    if (text.includes('\0')) return { ok: false, reason: 'it is a binary file' }
    // The rest would not be scanned.
    if (text.length > maxScannedChars) return { ok: false, reason: `it is longer than ${maxScannedChars} characters` }
    return { ok: true, path, text, entries: parseEntries(text) }
  } catch (error) {
    return { ok: false, reason: messageOf(error) }
  }
}

/** Throws the system's error for a link that leads to no file: a write would replace the link. */
function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new Error('it is a link to a file that does not exist', { cause: error })
    return path
  }
}
