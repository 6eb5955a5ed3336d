/**
 * The handler of a hook: the single `handler.*` file of its directory, and its language.
 */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'

export type HandlerFile = { readonly file: string; readonly language: 'node' | 'python' } | { readonly reason: string }

const languageByExtension: Readonly<Record<string, 'node' | 'python'>> = {
  '.ts': 'node',
  '.mts': 'node',
  '.js': 'node',
  '.mjs': 'node',
  '.cjs': 'node',
  '.py': 'python',
}

const maxBytes = 5 * 1024 * 1024
/** Bytes that are inspected to distinguish text from binary files. */
const sniffedBytes = 4_096

function isHandlerFileName(name: string): boolean {
  return name.startsWith('handler.') && languageByExtension[extname(name)] !== undefined
}

/** Throws the system's error if the directory cannot be read. */
export function findHandlerFile(folder: string): HandlerFile {
  const names = readdirSync(folder).filter(isHandlerFileName).sort()
  const [name, second] = names
  if (name === undefined)
    return { reason: `${folder}: expected a file handler.ts, handler.js or handler.py, found none` }
  if (second !== undefined) return { reason: `${folder}: expected one handler, found ${names.join(' and ')}` }
  const file = join(folder, name)
  const stats = statSync(file)
  if (!stats.isFile()) return { reason: `${file}: expected a file` }
  if (stats.size > maxBytes) return { reason: `${file}: expected at most ${maxBytes} bytes, found ${stats.size}` }
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
