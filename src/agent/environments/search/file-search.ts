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
  output = 'lines',
  context = 0,
  limit,
}: Pick<SearchRequest, 'target' | 'pattern' | 'limit' | 'output' | 'context'> & {
  readonly fileGlob?: string | undefined
}): FileSearch {
  const globs = [target === 'files' ? pattern : undefined, fileGlob].filter((glob) => glob !== undefined)
  const matchers = globs.map(createGlobMatcher)
  const expression = target === 'files' ? undefined : new RegExp(pattern, 'u')
  return async (path, relativePath) => {
    if (!matchers.every((matches) => matches(relativePath))) return []
    if (expression === undefined) return [{ path, line: 0, text: '' }]
    const text = await readSearchable(path)
    if (text === undefined) return []
    const lines = text.split('\n')
    // A line break at the end does not start another line.
    if (lines.at(-1) === '') lines.pop()
    if (output === 'files') return lines.some((line) => expression.test(line)) ? [{ path, line: 0, text: '' }] : []
    if (output === 'lines') return findLines(lines, expression, limit + 1, context).map((hit) => ({ path, ...hit }))
    const count = lines.filter((line) => expression.test(line)).length
    return count === 0 ? [] : [{ path, line: 0, text: '', count }]
  }
}

/** Undefined for what is not searched, also when a link has replaced a part of the path since it was found. */
async function readSearchable(path: string): Promise<string | undefined> {
  let file: FileHandle | undefined
  try {
    file = await openExactly(path)
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > maxFileBytes || !(await isOpenedAt(file, path))) return undefined
    const bytes = await file.readFile()
    return bytes.subarray(0, 8192).includes(0) ? undefined : bytes.toString('utf8')
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return undefined
  } finally {
    await file?.close()
  }
}

/** At most `max` lines that match, and those near them. */
function findLines(
  lines: readonly string[],
  expression: RegExp,
  max: number,
  context: number,
): Omit<SearchHit, 'path'>[] {
  const hits: Omit<SearchHit, 'path'>[] = []
  let matches = 0
  /** The first line that was not added yet, and the first one that is not near the last hit. */
  let [next, end] = [0, 0]
  const add = (index: number, isContext: boolean) => {
    const line = (lines[index] ?? '').replace(/\r$/, '')
    const text = line.length > maxLineChars ? `${line.slice(0, maxLineChars)} [\u2026]` : line
    hits.push({ line: index + 1, text, ...(isContext && { isContext }) })
    next = index + 1
  }
  for (const [index, line] of lines.entries()) {
    if (matches >= max) break
    if (expression.test(line)) {
      for (let near = Math.max(next, index - context); near < index; near++) add(near, true)
      add(index, false)
      matches += 1
      end = index + 1 + context
    } else if (index < end) add(index, true)
  }
  return hits
}
