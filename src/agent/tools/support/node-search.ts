/**
 * Searching without ripgrep: a walk through the folders, file by file.
 */
import type { Dirent } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { systemCode } from '../../../lib/errors.ts'
import { createGlobMatcher } from './glob.ts'
import { createLineFinder, RegexTimeoutError } from './line-finder.ts'
import {
  maxLineChars,
  type SearchHit,
  type SearchRequest,
  type SearchResult,
  skippedDirectories,
} from './search-request.ts'

const maxFileBytes = 4 * 1024 * 1024

type FileSearch = (path: string) => Promise<SearchHit[]>

/** Files and folders that cannot be read are passed over, as ripgrep does. */
export async function searchWithNode(request: SearchRequest): Promise<SearchResult> {
  try {
    return await searchFiles(request, createFileSearch(request))
  } catch (error) {
    // Both are about the pattern, and the model can send another.
    if (error instanceof RegexTimeoutError || error instanceof SyntaxError) return { ok: false, reason: error.message }
    throw error
  }
}

/** Throws SyntaxError for a pattern that is no regular expression. */
function createFileSearch({ target, pattern }: SearchRequest): FileSearch {
  if (target === 'files') return async (path) => [{ path, line: 0, text: '' }]
  const find = createLineFinder(pattern)
  return async (path) => {
    try {
      return await searchFile(path, find)
    } catch (error) {
      if (systemCode(error) === undefined) throw error
      return []
    }
  }
}

async function searchFiles(request: SearchRequest, examine: FileSearch): Promise<SearchResult> {
  const { root, limit, signal } = request
  const isFile = (await stat(root)).isFile()
  const isChosen = createPathFilter(request, isFile ? dirname(root) : root)
  const deadline = performance.now() + request.timeoutMs
  const hits: SearchHit[] = []
  for await (const path of isFile ? [root] : walkFiles(root)) {
    if (signal.aborted) return { ok: true, hits, stopped: 'abort' }
    if (performance.now() > deadline) return { ok: true, hits, stopped: 'timeout' }
    if (isChosen(path)) hits.push(...(await examine(path)))
    if (hits.length > limit) return { ok: true, hits: hits.slice(0, limit), stopped: 'limit' }
  }
  return { ok: true, hits }
}

function createPathFilter(
  { target, pattern, fileGlob, mayRead }: SearchRequest,
  base: string,
): (path: string) => boolean {
  const globs = [target === 'files' ? pattern : undefined, fileGlob].filter((glob) => glob !== undefined)
  const matchers = globs.map(createGlobMatcher)
  return (path) => matchers.every((matches) => matches(relative(base, path))) && mayRead(path)
}

async function* walkFiles(folder: string): AsyncGenerator<string> {
  let entries: Dirent[]
  try {
    entries = await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return
  }
  const skipped: readonly string[] = skippedDirectories
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isFile()) yield path
    else if (entry.isDirectory() && !skipped.includes(entry.name)) yield* walkFiles(path)
  }
}

async function searchFile(path: string, find: (text: string) => number[]): Promise<SearchHit[]> {
  if ((await stat(path)).size > maxFileBytes) return []
  const bytes = await readFile(path)
  if (bytes.subarray(0, 8192).includes(0)) return []
  const text = bytes.toString('utf8')
  const numbers = find(text)
  if (numbers.length === 0) return []
  const lines = text.split('\n')
  return numbers.map((number) => {
    const line = (lines[number - 1] ?? '').replace(/\r$/, '')
    return { path, line: number, text: line.length > maxLineChars ? `${line.slice(0, maxLineChars)} […]` : line }
  })
}
