/**
 * The results of a batch: JSON lines that are only appended to. A line on disk is what makes a prompt count as answered, so a
 * batch that was killed continues after the last complete line.
 */
import { closeSync, ftruncateSync, openSync, readFileSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { z } from 'zod'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { writeFileAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/json.ts'

const usageSchema = z.object({ input_tokens: z.number(), output_tokens: z.number(), cost: z.number().optional() })

const resultSchema = z.looseObject({
  id: z.string(),
  line: z.number(),
  status: z.enum(['done', 'failed', 'stopped']),
  prompt: z.string(),
  text: z.string(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  cut_off: z.enum(['length', 'content_filter']).optional(),
  model: z.string(),
  usage: usageSchema,
  session_id: z.string(),
  attempt: z.int().positive(),
  finished_at: z.string(),
  hash: z.string(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** A line of the results. */
export type BatchResult = z.output<typeof resultSchema>

/** Limits a file of prompts or results. */
export const maxFileBytes = 1_073_741_824

/**
 * Whether there is a file. Throws `cli/usage` for a device, a pipe or a directory, and for more than 1 GB: reading it would not end,
 * or take all memory.
 */
export function existsFile(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return false
  const problem = !stats.isFile() ? 'is no file' : stats.size > maxFileBytes ? 'is larger than 1 GB' : undefined
  if (problem === undefined) return true
  throw new HermesError('cli/usage', `${path} ${problem}.`, { hint: 'Name another file.' })
}

/** Reads a file of JSON lines, and removes an incomplete last line, which a killed process has left. Throws as `existsFile`. */
export function readLines(path: string): string[] {
  if (!existsFile(path)) return []
  const content = readFileSync(path)
  const complete = content.lastIndexOf(10) + 1
  if (complete < content.length) {
    const file = openSync(path, 'r+')
    try {
      ftruncateSync(file, complete)
    } finally {
      closeSync(file)
    }
  }
  return content
    .subarray(0, complete)
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
}

/** Throws `cli/usage` for a line that is no result. */
export function readResults(path: string): BatchResult[] {
  return readLines(path).map((line, index) => {
    const result = resultSchema.safeParse(parseJson(line))
    if (result.success) return result.data
    throw new HermesError('cli/usage', `${path}:${index + 1} is no result of a batch.`, {
      hint: 'Name another file with --out, or remove the line: its prompt is then sent again.',
    })
  })
}

/** Replaces the results, which a crash leaves as they were or as they become. */
export function replaceResults(path: string, results: readonly BatchResult[]): void {
  writeFileAtomic(path, results.map((result) => `${JSON.stringify(result)}\n`).join(''))
}

export interface LineFile {
  /** Resolves when the line is on the disk. Rejects with `cli/failed`; after that, with every call. */
  append(value: unknown): Promise<void>
  close(): Promise<void>
}

/** Only the owner can read a new file. */
export async function openLineFile(path: string): Promise<LineFile> {
  const file = await open(path, 'a', 0o600).catch((error: unknown) => {
    throw new HermesError('cli/usage', `${path} cannot be written: ${messageOf(error)}.`, { cause: error })
  })
  let last: Promise<void> = Promise.resolve()
  return {
    append(value) {
      last = last.then(() => appendLine(file, path, value))
      return last
    },
    async close() {
      await last.catch(() => undefined)
      await file.close()
    },
  }
}

/** A line that could not be written completely is incomplete at the next start, too, and removed there. */
async function appendLine(file: FileHandle, path: string, value: unknown): Promise<void> {
  try {
    await file.appendFile(`${JSON.stringify(value)}\n`)
    await file.datasync()
  } catch (error) {
    throw new HermesError('cli/failed', `${path} cannot be written: ${messageOf(error)}.`, {
      hint: 'Make room, and run the same command again: answered prompts are not sent again.',
      cause: error,
    })
  }
}
