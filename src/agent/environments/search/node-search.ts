/**
 * Searches without ripgrep: walks the directories, and a thread searches file by file.
 */
import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { z } from 'zod'
import { systemCode } from '../../../lib/errors.ts'
import { startWorker, type WorkerThread, WorkerTimeoutError } from '../../../lib/worker.ts'
import {
  firstHits,
  type SearchHit,
  type SearchRequest,
  type SearchResult,
  skippedDirectories,
} from './search-request.ts'

/** For the start of the thread and the compilation of the pattern. */
const startTimeoutMs = 10_000
const fileTimeoutMs = 2_000

const startedSchema = z.object({ problem: z.string().optional() })
const foundSchema = z.object({
  hits: z.array(
    z.object({
      path: z.string(),
      line: z.number(),
      text: z.string(),
      count: z.number().optional(),
      isContext: z.boolean().optional(),
    }),
  ),
})

/** Skips files and directories that cannot be read, as ripgrep does. */
export async function searchWithNode(request: SearchRequest): Promise<SearchResult> {
  const { target, pattern, fileGlob, output, context, limit, signal } = request
  if (signal.aborted) return { ok: true, hits: [], stopped: 'abort' }
  const data = { target, pattern, fileGlob, output, context, limit }
  const worker = startWorker(new URL('./search-worker.ts', import.meta.url), data)
  try {
    const { problem } = startedSchema.parse(await worker.receive(startTimeoutMs, signal))
    return problem === undefined ? await searchFiles(request, worker) : { ok: false, reason: problem }
  } catch (error) {
    if (signal.aborted) return { ok: true, hits: [], stopped: 'abort' }
    if (!(error instanceof WorkerTimeoutError)) throw error
    return { ok: false, reason: 'The pattern takes too long on these files; use a simpler one.' }
  } finally {
    await worker.stop()
  }
}

async function searchFiles(
  { root, limit, context, signal, mayRead, timeoutMs }: SearchRequest,
  worker: WorkerThread,
): Promise<SearchResult> {
  const isFile = (await stat(root)).isFile()
  const base = isFile ? dirname(root) : root
  const deadline = performance.now() + timeoutMs
  const hits: SearchHit[] = []
  let matchCount = 0
  for await (const path of isFile ? [root] : walkFiles(root)) {
    if (signal.aborted) return { ok: true, hits, stopped: 'abort' }
    if (performance.now() > deadline) return { ok: true, hits, stopped: 'timeout' }
    if (!mayRead(path)) continue
    const answer = worker.receive(fileTimeoutMs, signal)
    worker.send({ path, relativePath: relative(base, path) })
    const more = foundSchema.parse(await answer).hits
    hits.push(...more)
    matchCount += more.filter(({ isContext }) => isContext !== true).length
    if (matchCount > limit) return { ok: true, hits: firstHits(hits, limit, context), stopped: 'limit' }
  }
  return { ok: true, hits }
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
