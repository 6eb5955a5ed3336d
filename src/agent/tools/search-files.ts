/**
 * Finds files by name, or lines by content.
 */
import { z } from 'zod'
import { toVisibleText } from '../../lib/visible-text.ts'
import type { FileHit } from '../environments/files.ts'
import { countOf, toErrorJson, toResultJson } from '../support/result-json.ts'
import { defineToolCode } from './tool.ts'

const timeoutMs = 30_000
const maxHits = 1_000
const maxOffset = 10_000
const maxContext = 20

/** The arguments of Hermes Agent. */
const parameters = z.object({
  pattern: z.string().min(1),
  target: z.enum(['content', 'files']).optional(),
  path: z.string().optional(),
  file_glob: z.string().optional(),
  limit: z.int().min(1).optional(),
  offset: z.int().min(0).optional(),
  output_mode: z.enum(['content', 'files_only', 'count']).optional(),
  context: z.int().min(0).optional(),
})

const text = { type: 'string' } as const

/** Shorter than a derived one, because it is a part of every request. Results name `offset`. */
const jsonSchema = {
  type: 'object',
  properties: {
    pattern: { type: 'string', description: 'regex; with target files: glob' },
    target: { type: 'string', enum: ['content', 'files'] },
    path: text,
    file_glob: text,
    limit: { type: 'integer' },
    output_mode: { type: 'string', enum: ['content', 'files_only', 'count'] },
    context: { type: 'integer' },
  },
  required: ['pattern'],
}

const outputs = { content: 'lines', files_only: 'files', count: 'counts' } as const

export const searchFilesTool = defineToolCode({
  name: 'search_files',
  description: 'Search file contents (`path:line:text`) or file names. Skips .git and node_modules.',
  parameters,
  jsonSchema,
  acceptsUndescribed: true,
  mode: 'pure',
  label: ({ pattern }) => pattern,
  summarize: ({ count, incomplete }, { target, output_mode: mode }) =>
    typeof count !== 'number'
      ? ''
      : `${countOf(target === 'files' || mode === 'files_only' ? 'file' : 'match', count)}${incomplete === undefined ? '' : ' or more'}`,

  async run(
    { pattern, target = 'content', path = '.', file_glob: fileGlob, output_mode: mode = 'content', ...more },
    call,
  ) {
    const { environment, conversation, signal } = call
    const offset = more.offset ?? 0
    if (offset > maxOffset)
      return toErrorJson({ code: 'offset_too_large', reason: `offset is at most ${maxOffset}; narrow the search.` })
    const limit = Math.min(more.limit ?? 100, maxHits)
    const context = Math.min(more.context ?? 0, maxContext)
    const output = outputs[mode]
    const request = { path, target, pattern, fileGlob, output, context, timeoutMs, limit: offset + limit }
    const result = await environment.files.search(request, { attachments: conversation.attachments, signal })
    if (!result.ok) return toErrorJson(result)
    const { stopped } = result
    const hits = withoutFirst(inOutput(result.hits, output), offset)
    const files = target === 'files' || mode === 'files_only'
    const count = hits.reduce((sum, hit) => sum + (hit.isContext === true ? 0 : (hit.count ?? 1)), 0)
    const rest = {
      count,
      ...(stopped !== undefined && { incomplete: incompleteReasons[stopped] }),
      ...(stopped === 'limit' && { next_offset: offset + limit }),
    }
    const { maxResultChars } = call.limits
    if (files) return toResultJson({ files: hits.map(formatHit).join('\n'), ...rest }, maxResultChars, 'files')
    const matches = mode === 'count' ? hits.map(formatCount).join('\n') : formatLines(hits)
    return toResultJson({ matches, ...rest }, maxResultChars, 'matches')
  },
})

const incompleteReasons = {
  limit: 'there are more; narrow the search, raise limit or go on with offset',
  timeout: `stopped after ${timeoutMs / 1_000} s; narrow the search`,
  abort: 'the turn was stopped',
} as const

/** One hit for each file, from an environment that knows lines alone. */
function inOutput(hits: readonly FileHit[], output: (typeof outputs)[keyof typeof outputs]): readonly FileHit[] {
  if (output === 'lines') return hits
  const files = new Map<string, FileHit>()
  for (const { path, count = 1 } of hits)
    files.set(path, { path, line: 0, text: '', count: (files.get(path)?.count ?? 0) + count })
  return [...files.values()].map((hit) => (output === 'files' ? { ...hit, count: 1 } : hit))
}

/** Without the first `count` hits and the lines before the next one. */
function withoutFirst(hits: readonly FileHit[], count: number): readonly FileHit[] {
  if (count === 0) return hits
  const places = hits.flatMap(({ isContext }, index) => (isContext === true ? [] : [index]))
  const first = places[count]
  return first === undefined ? [] : hits.slice(first)
}

/** The format is that of `grep`: `path-line-text` for lines near a hit, and `--` between groups of lines. */
function formatLines(hits: readonly FileHit[]): string {
  const hasContext = hits.some(({ isContext }) => isContext === true)
  return hits
    .map((hit, index) => {
      const last = hits[index - 1]
      const isApart = hasContext && last !== undefined && (last.path !== hit.path || last.line + 1 !== hit.line)
      return isApart ? `--\n${formatHit(hit)}` : formatHit(hit)
    })
    .join('\n')
}

function formatCount(hit: FileHit): string {
  return `${nameOf(hit)}:${hit.count ?? 1}`
}

/** A name shows hidden characters; the text of a line stays exact. */
function formatHit(hit: FileHit): string {
  const mark = hit.isContext === true ? '-' : ':'
  return hit.line === 0 ? nameOf(hit) : `${nameOf(hit)}${mark}${hit.line}${mark}${hit.text}`
}

function nameOf({ path }: FileHit): string {
  return toVisibleText(path).replace(/[\n\t]/g, escapeBlank)
}

/** A name with a line break would look like two hits. */
function escapeBlank(character: string): string {
  return character === '\n' ? '\\n' : '\\t'
}
