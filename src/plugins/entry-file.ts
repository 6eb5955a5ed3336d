/**
 * The entry of a plugin: the one file of its folder whose `register` is called, and the language it is in.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

export type PluginLanguage = 'node' | 'python'

export type EntryFileResult = { readonly file: string; readonly language: PluginLanguage } | { readonly reason: string }

const languageByEntryName: ReadonlyMap<string, PluginLanguage> = new Map([
  ['index.ts', 'node'],
  ['index.js', 'node'],
  ['index.mjs', 'node'],
  ['__init__.py', 'python'],
])

const maxBytes = 5 * 1024 * 1024

/** Throws the system's error when the folder cannot be read. */
export function findEntryFile(folder: string): EntryFileResult {
  const names = readdirSync(folder)
    .filter((name) => languageByEntryName.has(name))
    .sort()
  const [name, second] = names
  if (name === undefined) return { reason: `${folder}: expected a file index.ts, index.js or __init__.py, found none` }
  if (second !== undefined) return { reason: `${folder}: expected one entry, found ${names.join(' and ')}` }
  const file = join(folder, name)
  const found = statSync(file)
  if (!found.isFile()) return { reason: `${file}: expected a file` }
  if (found.size > maxBytes) return { reason: `${file}: expected at most ${maxBytes} bytes, found ${found.size}` }
  return { file, language: languageByEntryName.get(name) ?? 'node' }
}
