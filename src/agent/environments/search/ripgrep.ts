/**
 * Searches with ripgrep, which is fast and respects .gitignore.
 */

import { spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { HermesError } from '../../../lib/errors.ts'
import { isWithin } from '../../../lib/files.ts'
import { signalProcessGroup } from '../../../lib/process-group.ts'
import { onAbort } from '../../../lib/timers.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import {
  firstHits,
  maxLineChars,
  type SearchHit,
  type SearchRequest,
  type SearchResult,
  skippedDirectories,
} from './search-request.ts'

/** Throws `HermesError` when ripgrep cannot be started. */
export async function searchWithRipgrep(
  rgPath: string,
  request: SearchRequest,
  sandbox?: Sandbox,
): Promise<SearchResult> {
  const { root, limit, signal } = request
  const isFile = (await stat(root)).isFile()
  const directory = isFile ? dirname(root) : root
  const command = [rgPath, ...ripgrepArguments(request, isFile ? basename(root) : '.')]
  const [program = rgPath, ...args] =
    sandbox?.wrap(command, { cwd: asSeenInside(directory, sandbox.view.privateTmp) }) ?? command
  const child = spawn(program, args, {
    cwd: directory,
    env: { LC_ALL: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // The program in the sandbox is another process of the group.
    detached: true,
  })
  let stopped: 'limit' | 'timeout' | 'abort' | undefined
  const stop = (reason: NonNullable<typeof stopped>) => {
    stopped ??= reason
    if (child.pid !== undefined) signalProcessGroup(child.pid, 'SIGKILL')
  }
  const timer = setTimeout(() => stop('timeout'), request.timeoutMs)
  const stopListening = onAbort(signal, () => stop('abort'))

  let stderrText = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderrText.length < 2_000) stderrText += text
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) =>
      reject(new HermesError('agent/tool-failed', `rg: ${error.message}`, { cause: error })),
    )
    child.once('close', resolve)
  })
  const hits: SearchHit[] = []
  let matchCount = 0
  const read = async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      const hit = parseHit(line, directory, request)
      if (hit === undefined || !request.mayRead(hit.path)) continue
      hits.push(hit)
      if (hit.isContext !== true) matchCount += 1
      if (matchCount > limit) {
        stop('limit')
        break
      }
    }
    // An unread pipe would stay open and keep the process alive.
    child.stdout.destroy()
  }
  try {
    const [code] = await Promise.all([ended, read()])
    // Files that may not be read have no message (`--no-messages`).
    const failure = stderrText.trim()
    if (code !== 0 && hits.length === 0 && failure !== '') return { ok: false, reason: failure }
  } finally {
    clearTimeout(timer)
    stopListening()
  }
  return { ok: true, hits: firstHits(hits, limit, request.context), ...(stopped !== undefined && { stopped }) }
}

/** The path that a program in the sandbox uses for a path on this machine. */
function asSeenInside(path: string, privateTmp: string | undefined): string {
  const isInside = privateTmp !== undefined && isWithin(path, privateTmp)
  return isInside ? `/tmp${path.slice(privateTmp.length)}` : path
}

export function ripgrepArguments(
  {
    target,
    pattern,
    fileGlob,
    output = 'lines',
    context = 0,
  }: Pick<SearchRequest, 'target' | 'pattern' | 'fileGlob' | 'output' | 'context'>,
  startPath: string,
): string[] {
  const commonArguments = ['--no-config', '--no-messages', '--color=never', '--hidden', '--sort=path']
  // The last matching glob wins, so the skipped directories come last.
  const patterns = [target === 'files' ? pattern : undefined, fileGlob, ...skippedDirectories.map((name) => `!${name}`)]
  const globs = patterns.filter((glob) => glob !== undefined).map((glob) => `--glob=${glob}`)
  if (target === 'files') return [...commonArguments, ...globs, '--files', '--', startPath]
  const outputArguments = {
    files: ['--files-with-matches'],
    counts: ['--count', '--with-filename', '--null'],
    lines: [
      '--no-heading',
      '--with-filename',
      '--line-number',
      '--null',
      `--context=${context}`,
      `--max-columns=${maxLineChars}`,
      '--max-columns-preview',
    ],
  }[output]
  return [...commonArguments, ...globs, ...outputArguments, `--regexp=${pattern}`, '--', startPath]
}

/** `path NUL line:text`, `path NUL line-text` for a line near a hit, `path NUL count`, or the path alone for a whole file. */
export function parseHit(
  line: string,
  directory: string,
  { target, output }: Pick<SearchRequest, 'target' | 'output'>,
): SearchHit | undefined {
  if (target === 'files' || output === 'files') return { path: join(directory, line), line: 0, text: '' }
  if (output === 'counts') {
    const [path = '', count] = line.split('\0')
    return count === undefined ? undefined : { path: join(directory, path), line: 0, text: '', count: Number(count) }
  }
  const [, path, number, mark, text] = /^([^\0]*)\0(\d+)([:-])(.*)$/s.exec(line) ?? []
  if (path === undefined || number === undefined || text === undefined) return undefined
  const hit = { path: join(directory, path), line: Number(number), text: text.replaceAll('\0', '\u2400') }
  return mark === '-' ? { ...hit, isContext: true } : hit
}
