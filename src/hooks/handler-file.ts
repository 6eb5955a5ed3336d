/**
 * The handler of a hook: the single `handler.*` file of its directory, and its language.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { extname } from 'node:path'
import { findOnlyFile } from '../lib/safe-files.ts'

export type HandlerFile = { readonly file: string; readonly language: 'node' | 'python' } | { readonly reason: string }

const languageByExtension: Readonly<Record<string, 'node' | 'python'>> = {
  '.ts': 'node',
  '.mts': 'node',
  '.js': 'node',
  '.mjs': 'node',
  '.cjs': 'node',
  '.py': 'python',
}

/** Bytes that are inspected to distinguish text from binary files. */
const sniffedBytes = 4_096

function isHandlerFileName(name: string): boolean {
  return name.startsWith('handler.') && languageByExtension[extname(name)] !== undefined
}

/** Throws the system's error if the directory cannot be read. */
export function findHandlerFile(folder: string): HandlerFile {
  const code = findOnlyFile(folder, isHandlerFileName, ['handler', 'handler.ts, handler.js or handler.py'])
  if ('reason' in code) return code
  const { file, name } = code
  if (isBinary(file)) return { reason: `${file}: expected source code, found a binary file` }
  return { file, language: languageByExtension[extname(name)] ?? 'node' }
}

function isBinary(file: string): boolean {
  const opened = openSync(file, 'r')
  try {
    const beginning = Buffer.alloc(sniffedBytes)
    return beginning.subarray(0, readSync(opened, beginning, 0, sniffedBytes, 0)).includes(0)
  } finally {
    closeSync(opened)
  }
}
