/**
 * Keeps the results of tools that are too long for the model as files, `cache/results/<turn>/<call>.txt`. The model gets the
 * beginning, the end and the path, and may read the file in the same conversation. Loaded with the first such result.
 */
import { realpathSync } from 'node:fs'
import { lstat, mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toResultJson, truncateMiddle } from '../../agent/support/result-json.ts'
import { systemCode } from '../../lib/errors.ts'
import { listNames } from '../../lib/files.ts'
import { isRecord, parseJson } from '../../lib/json.ts'
import { turnsOfSameConversation } from '../../sessions/conversation-turns.ts'
import type { Runtime } from '../../store/runtime.ts'

export interface ResultFiles {
  /** Stores a result without secrets, and returns what the model gets: at most `maxChars` characters. Never rejects. */
  shorten(call: { readonly turnId: string; readonly callId: string }, result: string, maxChars: number): Promise<string>
  /** Real paths of the files of the conversation to which the turn belongs, the newest first. Rejects `store/...`. */
  of(turnId: string): Promise<readonly string[]>
}

const defaultMaxTotalBytes = 256 * 1_048_576
/** Each becomes a mount of the sandbox. */
const maxListed = 50
/** A result with several long parts is stored as a whole. */
const minShareOfText = 0.8

/**
 * @param directory `cache/results` in the home. It may be missing.
 * @param maxTotalBytes limits all files together; the oldest are removed first
 */
export function createResultFiles(
  directory: string,
  { store, log }: Pick<Runtime, 'store' | 'log'>,
  maxTotalBytes = defaultMaxTotalBytes,
): ResultFiles {
  /** The size of all files; undefined until they are read once. */
  let totalBytes: number | undefined

  async function limitTotal(newest: string, bytes: number): Promise<void> {
    if (totalBytes !== undefined) totalBytes += bytes
    if (totalBytes !== undefined && totalBytes <= maxTotalBytes) return
    totalBytes = await removeOldest(directory, maxTotalBytes, newest)
  }

  return {
    async shorten({ turnId, callId }, result, maxChars) {
      const long = longTextIn(result)
      try {
        const text = long?.text ?? result
        const path = await storeText(join(directory, fileName(turnId)), fileName(callId), text)
        await limitTotal(path, Buffer.byteLength(text))
        log.info({ event: 'tool.result_stored', chars: result.length, path }, 'a long result was stored as a file')
        return long === undefined
          ? JSON.stringify({ result: truncateMiddle(result, Math.floor(maxChars / 3)), full_result: path })
          : toResultJson<Result>({ ...long.value, full_result: path }, maxChars, long.field)
      } catch (error) {
        log.warn({ event: 'tool.result_not_stored', err: error }, 'a long result could not be stored as a file')
        return long === undefined ? truncateMiddle(result, maxChars) : toResultJson(long.value, maxChars, long.field)
      }
    },

    async of(turnId) {
      const turns = await listNames(directory)
      if (turns.length === 0) return []
      const allowed = await store.run(() => turnsOfSameConversation(turnId, turns))
      const files = await listFiles(directory, allowed)
      const real = realpathSync(directory)
      return files
        .sort((a, b) => b.modifiedAt - a.modifiedAt)
        .slice(0, maxListed)
        .map(({ turn, name }) => join(real, turn, name))
    },
  }
}

type Result = Readonly<Record<string, unknown>>

/** The text that makes a result long. Undefined if there is no such text. */
function longTextIn(
  result: string,
): { readonly value: Result; readonly field: string; readonly text: string } | undefined {
  const value = result.startsWith('{') ? parseJson(result) : undefined
  if (!isRecord(value)) return undefined
  let longest = { field: '', text: '' }
  for (const [field, text] of Object.entries(value))
    if (typeof text === 'string' && text.length > longest.text.length) longest = { field, text }
  const isLong = JSON.stringify(longest.text).length > result.length * minShareOfText
  return isLong ? { value, ...longest } : undefined
}

/** Ids of vendors are no names of files. */
function fileName(id: string): string {
  return (
    id
      .replace(/[^\w.-]/g, '_')
      .replace(/^\.+/, '_')
      .slice(0, 120) || '_'
  )
}

/** Some vendors number the calls of each response from 0. */
async function storeText(folder: string, name: string, text: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (let number = 1; ; number++) {
    const path = join(folder, `${name}${number === 1 ? '' : `-${number}`}.txt`)
    try {
      await writeFile(path, text, { mode: 0o600, flag: 'wx' })
      return path
    } catch (error) {
      if (systemCode(error) === 'EEXIST' && number < 10_000) continue
      if (systemCode(error) !== 'EEXIST') await rm(path, { force: true })
      throw error
    }
  }
}

interface ResultFile {
  readonly turn: string
  readonly name: string
  readonly bytes: number
  readonly modifiedAt: number
}

async function listFiles(directory: string, turns: Iterable<string>): Promise<ResultFile[]> {
  const files: ResultFile[] = []
  for (const turn of turns)
    for (const name of await listNames(join(directory, turn))) {
      const stats = await lstat(join(directory, turn, name)).catch(() => undefined)
      if (stats?.isFile() === true) files.push({ turn, name, bytes: stats.size, modifiedAt: stats.mtimeMs })
    }
  return files
}

/** Removes the oldest files above the limit. Returns the bytes of the others. */
async function removeOldest(directory: string, maxTotalBytes: number, newest: string): Promise<number> {
  const files = await listFiles(directory, await readdir(directory))
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const { turn, name, bytes } of files.sort((a, b) => a.modifiedAt - b.modifiedAt)) {
    const path = join(directory, turn, name)
    if (total <= maxTotalBytes) break
    if (path === newest) continue
    await rm(path, { force: true })
    // The folder of a turn is of no use without files.
    await rmdir(join(directory, turn)).catch(ignoreIfNotEmpty)
    total -= bytes
  }
  return total
}

function ignoreIfNotEmpty(error: unknown): void {
  if (systemCode(error) !== 'ENOTEMPTY' && systemCode(error) !== 'EEXIST' && systemCode(error) !== 'ENOENT') throw error
}
