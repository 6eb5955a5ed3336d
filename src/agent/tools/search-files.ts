/**
 * Finds files by name, or lines by content.
 */
import { z } from 'zod'
import { toVisibleText } from '../../lib/visible-text.ts'
import type { FileHit } from '../environments/files.ts'
import { countOf, toErrorJson, toResultJson } from './support/result-json.ts'
import { defineTool } from './tool.ts'

const timeoutMs = 30_000
const maxHits = 1_000

const parameters = z.object({
  pattern: z.string().min(1).describe('regular expression; with target files: glob'),
  target: z.enum(['content', 'files']).optional(),
  path: z.string().optional(),
  file_glob: z.string().optional().describe('*.ts'),
  limit: z.int().min(1).optional(),
})

export default defineTool({
  name: 'search_files',
  toolset: 'file',
  description: 'Search file contents (`path:line:text`) or file names. Skips .git and node_modules.',
  parameters,
  mode: 'pure',
  label: ({ pattern }) => pattern,
  summarize: ({ count, incomplete }, { target }) =>
    typeof count !== 'number'
      ? ''
      : `${countOf(target === 'files' ? 'file' : 'match', count)}${incomplete === undefined ? '' : ' or more'}`,

  async run({ pattern, target = 'content', path = '.', file_glob: fileGlob, limit = 100 }, context) {
    const { environment, signal } = context
    const request = { path, target, pattern, fileGlob, timeoutMs, limit: Math.min(limit, maxHits) }
    const result = await environment.files.search(request, { signal })
    if (!result.ok) return toErrorJson(result)
    const { hits, stopped } = result
    const found = hits.map(formatHit).join('\n')
    const rest = { count: hits.length, ...(stopped !== undefined && { incomplete: incompleteReasons[stopped] }) }
    const { maxResultChars } = context.limits
    if (target === 'files') return toResultJson({ files: found, ...rest }, maxResultChars, 'files')
    return toResultJson({ matches: found, ...rest }, maxResultChars, 'matches')
  },
})

const incompleteReasons = {
  limit: 'there are more; narrow the search or raise limit',
  timeout: `stopped after ${timeoutMs / 1_000} s; narrow the search`,
  abort: 'the turn was stopped',
} as const

/** A name shows hidden characters; the text of a line stays exact. */
function formatHit({ path, line, text }: FileHit): string {
  const name = toVisibleText(path).replace(/[\n\t]/g, escapeBlank)
  return line === 0 ? name : `${name}:${line}:${text}`
}

/** A name with a line break would look like two hits. */
function escapeBlank(character: string): string {
  return character === '\n' ? '\\n' : '\\t'
}
