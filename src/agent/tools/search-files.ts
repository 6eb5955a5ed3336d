/**
 * Finds files by name, or lines by content.
 */
import { stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { z } from 'zod'
import { systemCode } from '../../lib/errors.ts'
import { findProgram } from '../../lib/find-program.ts'
import { toVisibleText } from '../../lib/visible-text.ts'
import type { BuiltInToolDeps } from './deps.ts'
import { absolutePath } from './support/files.ts'
import { searchWithNode } from './support/node-search.ts'
import { toErrorJson, toResultJson } from './support/result-json.ts'
import { searchWithRipgrep } from './support/ripgrep.ts'
import type { SearchHit, SearchRequest, SearchResult } from './support/search-request.ts'
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

export default ({ fileGuard, userHome, searchPath, sandbox: getSandbox }: BuiltInToolDeps) => {
  let ripgrep: { readonly program: string | undefined } | undefined
  const search = async (request: SearchRequest): Promise<SearchResult> => {
    ripgrep ??= { program: findProgram('rg', searchPath) }
    const { program } = ripgrep
    const sandbox = await getSandbox?.()
    // A program that the sandbox hides cannot run in it.
    return program === undefined || sandbox?.accessOf(program) === 'hidden'
      ? searchWithNode(request)
      : searchWithRipgrep(program, request, sandbox)
  }

  return defineTool({
    name: 'search_files',
    toolset: 'file',
    description: 'Search file contents (`path:line:text`) or file names. Skips .git and node_modules.',
    parameters,
    mode: 'pure',
    label: ({ pattern }) => pattern,

    async run({ pattern, target = 'content', path = '.', file_glob: fileGlob, limit = 100 }, context) {
      const { cwd } = context.environment
      const allowed = await fileGuard.checkRead(absolutePath(path, cwd, userHome))
      if (!allowed.ok) return toErrorJson(allowed)
      const root = allowed.path
      if (!(await exists(root))) return toErrorJson({ code: 'not_found', reason: `${path} does not exist.` })
      const mayRead = await fileGuard.createReadFilter()
      const result = await search({
        root,
        target,
        pattern,
        fileGlob,
        timeoutMs,
        mayRead,
        limit: Math.min(limit, maxHits),
        signal: context.signal,
      })
      if (!result.ok) return toErrorJson({ code: 'invalid_pattern', reason: result.reason })
      const { hits, stopped } = result
      const found = hits.map((hit) => formatHit(hit, root, path)).join('\n')
      const rest = { count: hits.length, ...(stopped !== undefined && { incomplete: incompleteReasons[stopped] }) }
      const { maxResultChars } = context.limits
      if (target === 'files') return toResultJson({ files: found, ...rest }, maxResultChars, 'files')
      return toResultJson({ matches: found, ...rest }, maxResultChars, 'matches')
    },
  })
}

const incompleteReasons = {
  limit: 'there are more; narrow the search or raise limit',
  timeout: `stopped after ${timeoutMs / 1_000} s; narrow the search`,
  abort: 'the turn was stopped',
} as const

/** Paths start as the model wrote them. A name shows hidden characters; the text of a line stays exact. */
function formatHit({ path, line, text }: SearchHit, root: string, requestedPath: string): string {
  const name = toVisibleText(join(requestedPath, relative(root, path))).replace(/[\n\t]/g, escapeBlank)
  return line === 0 ? name : `${name}:${line}:${text}`
}

/** A name with a line break would look like two hits. */
function escapeBlank(character: string): string {
  return character === '\n' ? '\\n' : '\\t'
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}
