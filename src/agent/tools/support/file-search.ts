/**
 * Searches one file for lines that match, as ripgrep does. Runs in a thread, because the time that a pattern of a model takes
 * is not bounded.
 */
import type { FileHandle } from 'node:fs/promises'
import { systemCode } from '../../../lib/errors.ts'
import { isOpenedAt, openExactly } from '../../../lib/files.ts'
import { createGlobMatcher } from './glob.ts'
import { maxLineChars, type SearchHit, type SearchRequest } from './search-request.ts'

const maxFileBytes = 4 * 1024 * 1024

export type FileSearch = (path: string, relativePath: string) => Promise<SearchHit[]>

/** Throws SyntaxError for an invalid pattern. A file that cannot be read, and a binary one, has no hits. */
export function createFileSearch({
  target,
  pattern,
  fileGlob,
  limit,
}: Pick<SearchRequest, 'target' | 'pattern' | 'limit'> & { readonly fileGlob?: string | undefined }): FileSearch {
  const globs = [target === 'files' ? pattern : undefined, fileGlob].filter((glob) => glob !== undefined)
  const matchers = globs.map(createGlobMatcher)
  const expression = target === 'files' ? undefined : new RegExp(pattern, 'u')
  return async (path, relativePath) => {
    if (!matchers.every((matches) => matches(relativePath))) return []
    if (expression === undefined) return [{ path, line: 0, text: '' }]
    const text = await readSearchable(path)
    return text === undefined ? [] : findLines(text, expression, limit + 1).map((hit) => ({ path, ...hit }))
  }
}

/** Undefined for what is not searched, also when a link has replaced a part of the path since it was found. */
async function readSearchable(path: string): Promise<string | undefined> {
  let file: FileHandle | undefined
  try {
    file = await openExactly(path)
    const found = await file.stat()
    if (!found.isFile() || found.size > maxFileBytes || !(await isOpenedAt(file, path))) return undefined
    const bytes = await file.readFile()
    return bytes.subarray(0, 8192).includes(0) ? undefined : bytes.toString('utf8')
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return undefined
  } finally {
    await file?.close()
  }
}

/** At most `max` lines. */
function findLines(text: string, expression: RegExp, max: number): Omit<SearchHit, 'path'>[] {
  const found: Omit<SearchHit, 'path'>[] = []
  for (const [index, whole] of text.split('\n').entries()) {
    if (found.length >= max) break
    if (!expression.test(whole)) continue
    const line = whole.replace(/\r$/, '')
    found.push({
      line: index + 1,
      text: line.length > maxLineChars ? `${line.slice(0, maxLineChars)} […]` : line,
    })
  }
  return found
}
