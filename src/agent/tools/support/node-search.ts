/**
 * Searches without ripgrep: walks the directories and reads file by file.
 */
import type { Dirent } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { isNativeError } from 'node:util/types'
import { createContext, Script } from 'node:vm'
import { systemCode } from '../../../lib/errors.ts'
import { createGlobMatcher } from './glob.ts'
import {
  maxLineChars,
  type SearchHit,
  type SearchRequest,
  type SearchResult,
  skippedDirectories,
} from './search-request.ts'

const maxFileBytes = 4 * 1024 * 1024

type FileSearch = (path: string) => Promise<SearchHit[]>

/** Skips files and directories that cannot be read, as ripgrep does. */
export async function searchWithNode(request: SearchRequest): Promise<SearchResult> {
  try {
    return await searchFiles(request, createFileSearch(request))
  } catch (error) {
    // Both errors are about the pattern, and the model can send another one.
    if (error instanceof RegexTimeoutError || error instanceof SyntaxError) return { ok: false, reason: error.message }
    throw error
  }
}

/** Throws SyntaxError for an invalid regular expression. */
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

async function searchFiles(request: SearchRequest, searchOne: FileSearch): Promise<SearchResult> {
  const { root, limit, signal } = request
  const isFile = (await stat(root)).isFile()
  const isSelected = createPathFilter(request, isFile ? dirname(root) : root)
  const deadline = performance.now() + request.timeoutMs
  const hits: SearchHit[] = []
  for await (const path of isFile ? [root] : walkFiles(root)) {
    if (signal.aborted) return { ok: true, hits, stopped: 'abort' }
    if (performance.now() > deadline) return { ok: true, hits, stopped: 'timeout' }
    if (isSelected(path)) hits.push(...(await searchOne(path)))
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

async function* walkFiles(directory: string): AsyncGenerator<string> {
  let entries: Dirent[]
  try {
    entries = await readdir(directory, { withFileTypes: true })
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return
  }
  const skipped: readonly string[] = skippedDirectories
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    const path = join(directory, entry.name)
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

const matchTimeoutMs = 500

class RegexTimeoutError extends Error {}

const script = new Script(`
  text.split('\\n').flatMap((line, index) => (expression.test(line) ? [index + 1] : [])).join(' ')
`)

/**
 * Returns a function that finds the lines of a text that match, counted from 1. It throws `RegexTimeoutError`. The pattern
 * comes from the model, and one that backtracks could block the gateway: a `vm` context is the only way to interrupt a
 * match in the same thread. Throws SyntaxError for an invalid pattern.
 */
function createLineFinder(pattern: string): (text: string) => number[] {
  const context = createContext({ expression: new RegExp(pattern, 'u'), text: '' })
  return (text) => {
    context['text'] = text
    try {
      const numbers = String(script.runInContext(context, { timeout: matchTimeoutMs }))
      return numbers === '' ? [] : numbers.split(' ').map(Number)
    } catch (error) {
      if (!isTimeout(error)) throw error
      throw new RegexTimeoutError('The pattern takes too long on these files; use a simpler one.', { cause: error })
    } finally {
      context['text'] = ''
    }
  }
}

/** The error comes from another context, so it is not an instance of this context's Error. */
function isTimeout(error: unknown): boolean {
  return isNativeError(error) && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
