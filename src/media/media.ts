/**
 * Brings the files that people send into `$HERMES_HOME/media`: fetched when they are needed, named by us.
 *
 * What cannot be had never costs the message: it is answered without the file, and the model reads why.
 */
import { join } from 'node:path'
import { messageOf, systemCode } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { within } from '../lib/wait.ts'
import type { Attachment, MessageEvent } from '../message/event.ts'
import { type Target, targetOf } from '../message/source.ts'
import type { AttachmentAddress, PlatformAdapter } from '../platforms/adapter.ts'
import { openNewFile } from './new-file.ts'
import { FileProblem } from './problem.ts'
import { headBytes, kindOf, sniff } from './sniff.ts'

export interface MediaDeps {
  /** `$HERMES_HOME/media`. */
  readonly folder: string
  readonly clock: () => number
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
  readonly maxBytes: () => number
  /** Undefined while the account is not connected. */
  adapter(target: Target): Pick<PlatformAdapter, 'locate'> | undefined
  /** A few random characters: no file takes the place of another, not even of the same message. */
  mark(): string
  /** Takes secrets out of what an adapter says went wrong. */
  redact(text: string): string
}

export interface Media {
  /**
   * Fetches what `isToFetch` of an event, at most four files side by side. Each comes back with its path or with its
   * problem. `name`: what the names of the files begin with. Rejects with the signal's reason only.
   */
  fetchAttachments(event: MessageEvent, name: string, signal: AbortSignal): Promise<readonly Attachment[]>
}

type Locate = (attachment: Attachment, signal: AbortSignal) => Promise<AttachmentAddress>

const sideBySide = 4
/** After a start the platforms connect later than the lanes begin. */
const connectLimitMs = 10_000
const connectLookMs = 100
const locateLimitMs = 30_000
const maxProblemChars = 300
const fetchLimits = { idleMs: 15_000, totalMs: 60_000 }

/** It lies somewhere else, and nobody has tried yet to get it. */
export function isToFetch({ ref, url, path, problem }: Attachment): boolean {
  return (ref ?? url) !== undefined && path === undefined && problem === undefined
}

export function createMedia(deps: MediaDeps): Media {
  return {
    async fetchAttachments({ source, attachments = [] }, name, signal) {
      const wanted = attachments.filter(isToFetch)
      const locate = wanted.some(({ ref }) => ref !== undefined) ? await locator(targetOf(source), signal) : undefined
      const brought = await eachOf(wanted, sideBySide, (file, place) =>
        bring(file, `${name}-${place + 1}-${deps.mark()}`),
      )
      signal.throwIfAborted()
      return attachments.map((file) => brought.get(file) ?? file)

      async function bring(file: Attachment, fileName: string): Promise<Attachment> {
        try {
          return { ...file, ...(await fetchTo(await addressOf(file, locate, signal), file, fileName, signal)) }
        } catch (error) {
          if (signal.aborted) return file
          const problem = wordsFor(error)
          const more = beyond(problem, error)
          deps.log.warn(
            { platform: source.platform, file: fileName, error: more },
            `a file was not fetched: ${problem}`,
          )
          return { ...file, problem }
        }
      }
    },
  }

  /** What an error, or what caused it, says that the problem does not say already. */
  function beyond(problem: string, error: unknown): unknown {
    const cause = error instanceof Error ? error.cause : undefined
    return [error, cause].find((one) => one !== undefined && !problem.includes(wordsOf(one)))
  }

  function wordsOf(error: unknown): string {
    return deps.redact(messageOf(error)).slice(0, maxProblemChars).toWellFormed()
  }

  /** Waits for the adapter to be connected. Undefined where it hands out no files; a problem where it stays away. */
  async function locator(target: Target, signal: AbortSignal): Promise<Locate | FileProblem | undefined> {
    for (let waited = 0; !signal.aborted; waited += connectLookMs) {
      const adapter = deps.adapter(target)
      if (adapter !== undefined) return adapter.locate?.bind(adapter)
      if (waited >= connectLimitMs) break
      await deps.pause(connectLookMs, signal)
    }
    return new FileProblem('the platform is not connected')
  }

  async function fetchTo(
    address: AttachmentAddress,
    file: Attachment,
    name: string,
    signal: AbortSignal,
  ): Promise<Partial<Attachment>> {
    // Loaded with the first file: most conversations have none.
    const { refusedCredentials, safeFetch, tooLarge } = await import('./safe-fetch.ts')
    const maxBytes = deps.maxBytes()
    if ((file.bytes ?? 0) > maxBytes) throw tooLarge(maxBytes)
    const refusedType = file.mimeType === address.refusedType ? undefined : address.refusedType
    const day = new Date(deps.clock()).toISOString().slice(0, 10)
    const target = await openNewFile(join(deps.folder, day))
    try {
      let head = Buffer.alloc(0)
      let bytes = 0
      const take = async (more: Uint8Array) => {
        if (head.length < headBytes) head = Buffer.concat([head, more.subarray(0, headBytes - head.length)])
        bytes += more.length
        await target.write(more)
      }
      const { url, headers, trusted } = address
      await safeFetch({ url, headers, trusted, refusedType, maxBytes }, take, signal, fetchLimits)
      const { mimeType, extension } = sniff(head, file)
      if (mimeType === refusedType) throw refusedCredentials()
      return { kind: kindOf(file, mimeType), path: await target.keep(`${name}.${extension}`), mimeType, bytes }
    } finally {
      await target.discard()
    }
  }

  async function addressOf(
    file: Attachment,
    locate: Locate | FileProblem | undefined,
    signal: AbortSignal,
  ): Promise<AttachmentAddress> {
    if (file.ref === undefined) return { url: file.url ?? '' }
    if (locate instanceof FileProblem) throw locate
    if (locate === undefined) throw new FileProblem('the platform does not hand out files')
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(locateLimitMs)])
      const found = await within(locate(file, limit), locateLimitMs, signal)
      if (found.done) return found.value
    } catch (cause) {
      throw new FileProblem(wordsOf(cause), { cause })
    }
    throw new FileProblem('the platform did not say in time where it is')
  }
}

function wordsFor(error: unknown): string {
  return error instanceof FileProblem
    ? error.message
    : `it could not be stored (${systemCode(error) ?? messageOf(error)})`
}

/** Works on all of them, at most `limit` at a time. */
async function eachOf<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, place: number) => Promise<Result>,
): Promise<Map<Item, Result>> {
  const results = new Map<Item, Result>()
  const rest = items.entries()
  const worker = async () => {
    for (const [place, item] of rest) results.set(item, await work(item, place))
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return results
}
