/**
 * Brings the files that people send into `$HERMES_HOME/media`: fetched when they are needed, named by us.
 *
 * What cannot be had never costs the message: it is answered without the file, and the model reads why.
 */
import { join } from 'node:path'
import { messageOf, systemCode } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Attachment, MessageEvent } from '../message/event.ts'
import { type Target, targetOf } from '../message/source.ts'
import type { AttachmentAddress, PlatformAdapter } from '../platforms/adapter.ts'
import { openAtomicFile } from './atomic-file.ts'
import { attachmentKindOf, detectFileType, inspectedBytes } from './detect-file-type.ts'
import { MediaError } from './media-error.ts'

export interface AttachmentDownloaderDeps {
  /** `$HERMES_HOME/media`. */
  readonly folder: string
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
  readonly maxBytes: () => number
  /** Undefined while the account is not connected. */
  adapter(target: Target): Pick<PlatformAdapter, 'locate'> | undefined
  /** A few random characters: no file takes the place of another, not even of the same message. */
  randomSuffix(): string
  /** Takes secrets out of what an adapter says went wrong. */
  redact(text: string): string
}

export interface AttachmentDownloader {
  /**
   * Fetches what `isToFetch` of an event, at most four files side by side. Each comes back with its path or with its
   * problem. `name`: what the names of the files begin with. Rejects with the signal's reason only.
   */
  fetchAttachments(event: MessageEvent, name: string, signal: AbortSignal): Promise<readonly Attachment[]>
}

type Locate = (attachment: Attachment, signal: AbortSignal) => Promise<AttachmentAddress>

const maxConcurrent = 4
/** After a start the platforms connect later than the lanes begin. */
const connectTimeoutMs = 10_000
const connectPollMs = 100
const locateTimeoutMs = 30_000
const maxErrorChars = 300
const fetchTimeouts = { idleTimeoutMs: 15_000, totalTimeoutMs: 60_000 }

/** It lies somewhere else, and nobody has tried yet to get it. */
export function needsDownload({ ref, url, path, problem }: Attachment): boolean {
  return (ref ?? url) !== undefined && path === undefined && problem === undefined
}

export function createAttachmentDownloader(deps: AttachmentDownloaderDeps): AttachmentDownloader {
  return {
    async fetchAttachments({ source, attachments = [] }, name, signal) {
      const wanted = attachments.filter(needsDownload)
      const locate = wanted.some(({ ref }) => ref !== undefined)
        ? await waitForLocate(targetOf(source), signal)
        : undefined
      const downloaded = await mapConcurrently(wanted, maxConcurrent, (file, index) =>
        download(file, `${name}-${index + 1}-${deps.randomSuffix()}`),
      )
      signal.throwIfAborted()
      return attachments.map((file) => downloaded.get(file) ?? file)

      async function download(file: Attachment, fileName: string): Promise<Attachment> {
        try {
          return { ...file, ...(await fetchTo(await locateFile(file, locate, signal), file, fileName, signal)) }
        } catch (error) {
          if (signal.aborted) return file
          const problem = describeError(error)
          const more = additionalCause(problem, error)
          deps.log.warn(
            { event: 'media.download_failed', platform: source.platform, file: fileName, problem, error: more },
            'an attachment was not downloaded',
          )
          return { ...file, problem }
        }
      }
    },
  }

  /** What an error, or what caused it, says that the problem does not say already. */
  function additionalCause(problem: string, error: unknown): unknown {
    const cause = error instanceof Error ? error.cause : undefined
    return [error, cause].find((one) => one !== undefined && !problem.includes(redactedMessage(one)))
  }

  function redactedMessage(error: unknown): string {
    return deps.redact(messageOf(error)).slice(0, maxErrorChars).toWellFormed()
  }

  /** Waits for the adapter to be connected. Undefined where it hands out no files; a problem where it stays away. */
  async function waitForLocate(target: Target, signal: AbortSignal): Promise<Locate | MediaError | undefined> {
    for (let waited = 0; !signal.aborted; waited += connectPollMs) {
      const adapter = deps.adapter(target)
      if (adapter !== undefined) return adapter.locate?.bind(adapter)
      if (waited >= connectTimeoutMs) break
      await deps.sleep(connectPollMs, signal)
    }
    return new MediaError('the platform is not connected')
  }

  async function fetchTo(
    address: AttachmentAddress,
    file: Attachment,
    name: string,
    signal: AbortSignal,
  ): Promise<Partial<Attachment>> {
    // Loaded with the first file: most conversations have none.
    const { credentialsRejectedError, safeFetch, tooLargeError } = await import('./safe-fetch.ts')
    const maxBytes = deps.maxBytes()
    if ((file.bytes ?? 0) > maxBytes) throw tooLargeError(maxBytes)
    const refusedType = file.mimeType === address.refusedType ? undefined : address.refusedType
    const day = new Date(deps.clock()).toISOString().slice(0, 10)
    const target = await openAtomicFile(join(deps.folder, day))
    try {
      let head = Buffer.alloc(0)
      let bytes = 0
      const onChunk = async (more: Uint8Array) => {
        if (head.length < inspectedBytes) head = Buffer.concat([head, more.subarray(0, inspectedBytes - head.length)])
        bytes += more.length
        await target.write(more)
      }
      const { url, headers, trusted } = address
      await safeFetch({ url, headers, trusted, refusedType, maxBytes }, onChunk, signal, fetchTimeouts)
      const { mimeType, extension } = await detectFileType(head, file)
      if (mimeType === refusedType) throw credentialsRejectedError()
      return {
        kind: attachmentKindOf(file, mimeType),
        path: await target.commit(`${name}.${extension}`),
        mimeType,
        bytes,
      }
    } finally {
      await target.discard()
    }
  }

  async function locateFile(
    file: Attachment,
    locate: Locate | MediaError | undefined,
    signal: AbortSignal,
  ): Promise<AttachmentAddress> {
    if (file.ref === undefined) return { url: file.url ?? '' }
    if (locate instanceof MediaError) throw locate
    if (locate === undefined) throw new MediaError('the platform does not hand out files')
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(locateTimeoutMs)])
      const found = await withTimeout(locate(file, limit), locateTimeoutMs, signal)
      if (found.done) return found.value
    } catch (cause) {
      throw new MediaError(redactedMessage(cause), { cause })
    }
    throw new MediaError('the platform did not say in time where it is')
  }
}

function describeError(error: unknown): string {
  return error instanceof MediaError
    ? error.message
    : `it could not be stored (${systemCode(error) ?? messageOf(error)})`
}

/** Works on all of them, at most `limit` at a time. */
async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Map<Item, Result>> {
  const results = new Map<Item, Result>()
  const rest = items.entries()
  const worker = async () => {
    for (const [place, item] of rest) results.set(item, await work(item, place))
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return results
}
