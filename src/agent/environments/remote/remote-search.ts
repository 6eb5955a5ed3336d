/**
 * Searches in another environment: with ripgrep where it is installed, otherwise with find and grep.
 */
import { posix } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { quoteWord } from '../../../lib/shell-quote.ts'
import type { FileHit, FileSearchRequest, FileSearchResult } from '../files.ts'
import { createGlobMatcher } from '../search/glob.ts'
import { parseHit, ripgrepArguments } from '../search/ripgrep.ts'
import { firstHits, maxLineChars, skippedDirectories } from '../search/search-request.ts'
import { quotePath } from './quote.ts'
import type { RunScript } from './script-runner.ts'

export interface RemoteSearch {
  /** The path of the request, as commands in the environment may use it. */
  readonly root: string
  /** Whether a file may be read. Takes its path from the root; other files are left out. */
  mayRead(name: string): boolean
  readonly runScript: RunScript
  readonly signal: AbortSignal
}

const maxPatternBytes = 16_384

export async function searchRemotely(asked: FileSearchRequest, remote: RemoteSearch): Promise<FileSearchResult> {
  if (Buffer.byteLength(asked.pattern) > maxPatternBytes || asked.pattern.includes('\0'))
    return { ok: false, code: 'invalid_pattern', reason: 'The pattern is too long, or contains a NUL character.' }
  const result = await collect(asked, remote, withRipgrep(asked))
  return result === 'no-ripgrep' ? searchWithGrep(asked, remote) : result
}

async function searchWithGrep(request: FileSearchRequest, remote: RemoteSearch): Promise<FileSearchResult> {
  if (request.target === 'content' && request.fileGlob === undefined) {
    const result = await collect(request, remote, `${listing} | ${grepping(request)}`)
    return result === 'no-ripgrep' ? missingRoot(request) : result
  }
  const matchers = [request.target === 'files' ? request.pattern : undefined, request.fileGlob]
    .filter((glob) => glob !== undefined)
    .map(createGlobMatcher)
  const endsAt = performance.now() + request.timeoutMs
  const { text: all, stopped } = await listFiles(request, remote)
  const kind = all.slice(0, all.indexOf('\n'))
  if (kind === 'not-found') return missingRoot(request)
  const names = all
    .slice(kind.length + 1)
    .split('\0')
    .slice(0, -1)
    .map(withoutDot)
  const files = names.filter(
    (name) => matchers.every((matches) => matches(name)) && (kind === 'file' || remote.mayRead(name)),
  )
  if (request.target === 'files') {
    const hits = files
      .slice(0, request.limit)
      .map((name) => ({ path: shownPath(request, name, kind === 'file'), line: 0, text: '' }))
    const reason = files.length > request.limit ? 'limit' : stopped
    return { ok: true, hits, ...(reason !== undefined && { stopped: reason }) }
  }
  const list = files.map((name) => `./${name}\0`).join('')
  const rest = { ...request, timeoutMs: Math.max(endsAt - performance.now(), 1) }
  const result = await collect(rest, remote, grepping(request), list)
  if (result === 'no-ripgrep') return missingRoot(request)
  return result.ok && stopped !== undefined ? { ...result, stopped: result.stopped ?? stopped } : result
}

/** Limits the list of the names of all files. */
const maxListBytes = 16 * 1_048_576

/** The kind of the root in a line, and the names of the files, as many as fit into the limits of time and memory. */
async function listFiles(
  { timeoutMs }: FileSearchRequest,
  { root, runScript, signal }: RemoteSearch,
): Promise<{ readonly text: string; readonly stopped: 'limit' | 'timeout' | undefined }> {
  const chunks: Buffer[] = []
  let bytes = 0
  let stopped: 'limit' | 'timeout' | undefined
  const stop = new AbortController()
  const stopFor = (reason: 'limit' | 'timeout') => {
    stopped ??= reason
    stop.abort()
  }
  const timeout = setTimeout(() => stopFor('timeout'), timeoutMs)
  const onOutput = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxListBytes) return stopFor('limit')
    chunks.push(chunk)
  }
  try {
    await runScript(`${enter(root)}\n${listing}`, { signal, stop: stop.signal, onOutput })
  } finally {
    clearTimeout(timeout)
  }
  return { text: Buffer.concat(chunks).toString('utf8'), stopped }
}

function missingRoot({ path }: FileSearchRequest): FileSearchResult {
  return { ok: false, code: 'not_found', reason: `${path} does not exist.` }
}

/** Says what the root is, and goes to the directory of the search; `$s` is where it starts. */
function enter(root: string): string {
  return `p=${quotePath(root)}
[ -e "$p" ] || { echo not-found; exit 0; }
if [ -d "$p" ]; then echo directory; cd -- "$p" || exit 1; s=.
else echo file; d=\${p%/*}; cd -- "\${d:-/}" || exit 1; s=./\${p##*/}; fi`
}

const end = `r=$?; printf '\\000end %s\\n' "$r"; exit 0`

function withRipgrep(request: FileSearchRequest): string {
  const words = ripgrepArguments(request, '').slice(0, -1).map(quoteWord)
  return `command -v rg >/dev/null 2>&1 || { echo no-ripgrep; exit 0; }\nLC_ALL=C.UTF-8 rg ${words.join(' ')} "$s"`
}

const skipped = skippedDirectories.map((name) => `-name ${quoteWord(name)}`).join(' -o ')
const listing = `find "$s" \\( ${skipped} \\) -prune -o -type f -print0 2>/dev/null | LC_ALL=C sort -z`

/** Greps in the files whose names come from stdin. A pattern for PCRE where grep knows it, otherwise an extended one. */
function grepping({ pattern, output = 'lines', context = 0 }: FileSearchRequest): string {
  const perl = quoteWord(pattern)
  const extended = quoteWord(
    pattern.replaceAll(/\\(.)/gs, (whole, letter: string) => (letter === 'd' ? '[0-9]' : whole)),
  )
  const grep = 'grep -s $i $k -e "$e" 2>/dev/null'
  const command = {
    files: `xargs -0 ${grep} -l /dev/null`,
    counts: `xargs -0 ${grep} -cH $z /dev/null`,
    lines: `xargs -0 ${grep} -nH -C ${context} $z /dev/null`,
  }[output]
  // Without --null a line near a hit does not say where its path ends.
  const eachFile = `xargs -0 ${grep} -l /dev/null | while IFS= read -r f; do printf '\\000file %s\\n' "$f"; ${grep} -n -C ${context} "$f" </dev/null; done`
  const run = output === 'lines' && context > 0 ? `if [ -n "$z" ]; then ${command}; else ${eachFile}; fi` : command
  return `{
if echo x | grep -qP x 2>/dev/null; then k=-P; e=${perl}; else k=-E; e=${extended}; fi
i=; echo x | grep -qI x 2>/dev/null && i=-I
z=; echo x | grep -q --null x 2>/dev/null && z=--null
w=$(echo | grep $k -e "$e" 2>&1)
case $?$w in [01]|1*warning:*) ;; *) printf '%s\\n\\000end 2\\n' "$w"; exit 0;; esac
${run} || [ $? -lt 126 ]
}`
}

interface Collected {
  readonly hits: FileHit[]
  /** Counts the hits, without the lines near them. */
  count: number
  /** The first line. */
  root: string | undefined
  /** The file of the lines that follow, where the lines do not name it. */
  file: string | undefined
  /** Lines that are no hits: what a program says about a pattern. */
  said: string
  exitCode: number
}

async function collect(
  request: FileSearchRequest,
  { root, mayRead, runScript, signal }: RemoteSearch,
  script: string,
  input?: string,
): Promise<FileSearchResult | 'no-ripgrep'> {
  const collected: Collected = { hits: [], count: 0, root: undefined, file: undefined, said: '', exitCode: 0 }
  const stop = new AbortController()
  let stopped: 'limit' | 'timeout' | undefined
  const stopFor = (reason: 'limit' | 'timeout') => {
    stopped ??= reason
    stop.abort()
  }
  const timeout = setTimeout(() => stopFor('timeout'), request.timeoutMs)
  const decoder = new StringDecoder('utf8')
  let rest = ''
  const onOutput = (chunk: Buffer) => {
    const lines = `${rest}${decoder.write(chunk)}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const hit = readLine(line, request, collected, mayRead)
      if (hit === undefined || stopped !== undefined) continue
      collected.hits.push(hit)
      if (hit.isContext !== true) collected.count += 1
      if (collected.count > request.limit) stopFor('limit')
    }
  }
  try {
    const more = input === undefined ? {} : { input }
    await runScript(`${enter(root)}\n${script}\n${end}`, { signal, stop: stop.signal, onOutput, ...more })
  } finally {
    clearTimeout(timeout)
  }
  if (collected.root === 'not-found') return missingRoot(request)
  const said = collected.said.trim()
  if (said === 'no-ripgrep') return said
  if (collected.exitCode > 1 && (request.target === 'files' || request.output === 'files')) {
    const reason = collected.hits.map(({ path }) => path).join('\n')
    return { ok: false, code: 'invalid_pattern', reason }
  }
  if (collected.exitCode > 1 && collected.hits.length === 0 && said !== '')
    return { ok: false, code: 'invalid_pattern', reason: said }
  const hits = firstHits(collected.hits, request.limit, request.context)
  return { ok: true, hits, ...(stopped !== undefined && { stopped }) }
}

function readLine(
  line: string,
  request: FileSearchRequest,
  collected: Collected,
  mayRead: RemoteSearch['mayRead'],
): FileHit | undefined {
  if (collected.root === undefined) {
    collected.root = line
    return undefined
  }
  const ended = /^\0end (\d+)$/.exec(line)
  if (ended !== null) {
    // The first one counts: a part of a pipeline may have ended early.
    collected.exitCode ||= Number(ended[1])
    return undefined
  }
  if (line.startsWith(fileMark)) {
    collected.file = line.slice(fileMark.length)
    return undefined
  }
  const named = collected.file !== undefined && /^\d+[:-]/.test(line) ? `${collected.file}\0${line}` : line
  const hit = line === 'no-ripgrep' ? undefined : (parseHit(named, '', request) ?? parseColonHit(line, request))
  if (hit === undefined) {
    if (collected.said.length < 2_000) collected.said += `${line}\n`
    return undefined
  }
  if (hit.count === 0) return undefined
  const name = withoutDot(hit.path)
  if (collected.root !== 'file' && !mayRead(name)) return undefined
  const text = hit.text.length > maxLineChars ? `${hit.text.slice(0, maxLineChars)} [...]` : hit.text
  const path = shownPath(request, name, collected.root === 'file')
  return { ...hit, path, text: text.replace(/\r$/, '') }
}

/** Begins the lines of a file. */
const fileMark = '\0file '

/** Parses a hit of a grep without `--null`. */
function parseColonHit(line: string, { output }: FileSearchRequest): FileHit | undefined {
  if (output === 'counts') {
    const [, path, count] = /^(\.\/.*):(\d+)$/s.exec(line) ?? []
    return path === undefined ? undefined : { path, line: 0, text: '', count: Number(count) }
  }
  const [, path, number, text] = /^(\.\/.*?):(\d+):(.*)$/s.exec(line) ?? []
  return path === undefined || text === undefined ? undefined : { path, line: Number(number), text }
}

const withoutDot = (name: string) => name.replace(/^\.\//, '')

/** Paths begin as the model wrote them. A search in one file has that file alone. */
function shownPath({ path }: FileSearchRequest, name: string, isFile: boolean): string {
  return isFile ? path : posix.join(path, name)
}
