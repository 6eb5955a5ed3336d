/**
 * Downloads attachments to `$HERMES_HOME/media` before the turn starts, so that the model request can include them.
 *
 * A failed download does not fail the message. The model is informed of the reason instead.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf, systemCode } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Attachment, MessageEvent } from '../message/event.ts'
import { type Target, targetOf } from '../message/source.ts'
import type { AttachmentAddress, PlatformAdapter } from '../platforms/adapter.ts'
import { openAtomicFile } from './atomic-file.ts'
import { attachmentKindOf, detectFileType, inspectedBytes } from './detect-file-type.ts'
import { DownloadError, type DownloadErrorCode } from './download-error.ts'
import type { FileStoreDeps } from './file-store.ts'
import type { AddressRules } from './safe-fetch.ts'

export interface AttachmentDownloaderDeps extends FileStoreDeps {
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
  /** `undefined` while the account is not connected. */
  adapter(target: Target): Pick<PlatformAdapter, 'locate'> | undefined
  /** Origins of a self-hosted server, which may be in a private network (`file_hosts` of the account). */
  fileHosts(target: Target): readonly string[]
  /** Random characters for file names, so that no file replaces another. */
  randomSuffix(): string
  /** Removes secrets from the error messages of adapters. */
  redact(text: string): string
  readonly addresses?: AddressRules
}

export interface AttachmentDownloader {
  /**
   * Downloads the attachments that need it, at most four concurrently. Returns all attachments with their path or their
   * problem. Rejects only with the reason of the signal.
   * @param name prefix of the file names
   */
  fetchAttachments(event: MessageEvent, name: string, signal: AbortSignal): Promise<readonly Attachment[]>
}

type Locate = (attachment: Attachment, signal: AbortSignal) => Promise<AttachmentAddress>

const maxConcurrent = 4
/** After a start the queues begin before the platforms are connected. */
const connectTimeoutMs = 10_000
const connectPollMs = 100
const locateTimeoutMs = 30_000
const maxErrorChars = 300
const fetchTimeouts = { idleTimeoutMs: 15_000, totalTimeoutMs: 60_000 }

/** Whether the file is remote and no download has been attempted. */
export function needsDownload({ ref, url, path, problem }: Attachment): boolean {
  return (ref ?? url) !== undefined && path === undefined && problem === undefined
}

export function createAttachmentDownloader(deps: AttachmentDownloaderDeps): AttachmentDownloader {
  return {
    async fetchAttachments({ source, attachments = [] }, name, signal) {
      const pending = attachments.filter(needsDownload)
      const locate = pending.some(({ ref }) => ref !== undefined)
        ? await waitForLocate(targetOf(source), signal)
        : undefined
      const downloaded = await mapConcurrently(pending, maxConcurrent, (file, index) =>
        download(file, `${name}-${index + 1}-${deps.randomSuffix()}`),
      )
      signal.throwIfAborted()
      return attachments.map((file) => downloaded.get(file) ?? file)

      async function download(file: Attachment, fileName: string): Promise<Attachment> {
        try {
          const address = await locateFile(file, locate, signal)
          const hosts = deps.fileHosts(targetOf(source))
          return { ...file, ...(await fetchTo(address, hosts, file, fileName, signal)) }
        } catch (error) {
          if (signal.aborted) return file
          const problem = describeError(error)
          const more = additionalCause(problem, error)
          deps.log.warn(
            {
              event: 'media.download_failed',
              platform: source.platform,
              file: fileName,
              code: codeOf(error),
              problem,
              err: more,
            },
            'an attachment was not downloaded',
          )
          return { ...file, problem }
        }
      }
    },
  }

  /** The error or its cause, if its message is not part of the problem text. */
  function additionalCause(problem: string, error: unknown): unknown {
    const cause = error instanceof Error ? error.cause : undefined
    return [error, cause].find((text) => text !== undefined && !problem.includes(redactedMessage(text)))
  }

  function redactedMessage(error: unknown): string {
    return deps.redact(messageOf(error)).slice(0, maxErrorChars).toWellFormed()
  }

  /** Waits for the adapter to connect. `undefined` if it does not offer files; an error if it does not connect in time. */
  async function waitForLocate(target: Target, signal: AbortSignal): Promise<Locate | DownloadError | undefined> {
    for (let waited = 0; !signal.aborted; waited += connectPollMs) {
      const adapter = deps.adapter(target)
      if (adapter !== undefined) return adapter.locate?.bind(adapter)
      if (waited >= connectTimeoutMs) break
      await deps.sleep(connectPollMs, signal)
    }
    return new DownloadError('not-connected', 'the platform is not connected')
  }

  async function fetchTo(
    address: AttachmentAddress,
    hosts: readonly string[],
    file: Attachment,
    name: string,
    signal: AbortSignal,
  ): Promise<Partial<Attachment>> {
    // Loaded on demand, because most conversations have no attachments.
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
      const { url, headers } = address
      const trusted = [...hosts, ...(address.trusted === undefined ? [] : [address.trusted])]
      await safeFetch({ url, headers, trusted, refusedType, maxBytes }, onChunk, signal, {
        ...fetchTimeouts,
        ...deps.addresses,
      })
      const { mimeType, extension } = await detectFileType(head, file)
      if (mimeType === refusedType) throw credentialsRejectedError()
      const path = await target.commit(`${name}.${extension}`)
      const kind = attachmentKindOf(file, mimeType)
      const isRecording = (kindName: Attachment['kind']) => kindName === 'voice' || kindName === 'audio'
      const lies = isRecording(file.kind) && !isRecording(kind)
      const stored = {
        ...{ kind, path, mimeType, bytes },
        ...(lies ? { untranscribed: `it is no sound, but ${mimeType}` } : {}),
      }
      return mimeType.startsWith('image/') ? { ...stored, ...(await storeAsPicture(path)) } : stored
    } finally {
      await target.discard()
    }
  }

  /** A picture that models cannot be shown stays where it is: tools may be able to read it. */
  async function storeAsPicture(path: string): Promise<Partial<Attachment>> {
    const { picturePath, PictureRefused, storePictureFile } = await import('./pictures.ts')
    try {
      const image = await storePictureFile(deps.pictures, path)
      await rm(path, { force: true })
      return { path: picturePath(deps.pictures, image), image }
    } catch (error) {
      if (error instanceof PictureRefused) return { hidden: error.message }
      throw error
    }
  }

  async function locateFile(
    file: Attachment,
    locate: Locate | DownloadError | undefined,
    signal: AbortSignal,
  ): Promise<AttachmentAddress> {
    if (file.ref === undefined) return { url: file.url ?? '' }
    if (locate instanceof DownloadError) throw locate
    if (locate === undefined) throw new DownloadError('not-offered', 'the platform does not offer files')
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(locateTimeoutMs)])
      const location = await withTimeout(locate(file, limit), locateTimeoutMs, signal)
      if (location.done) return location.value
    } catch (cause) {
      throw new DownloadError('address-failed', redactedMessage(cause), { cause })
    }
    throw new DownloadError('timeout', 'the platform did not provide the address of the file in time')
  }
}

/** `not-stored`: the file was received, but could not be written. */
function codeOf(error: unknown): DownloadErrorCode | 'not-stored' {
  return error instanceof DownloadError ? error.code : 'not-stored'
}

function describeError(error: unknown): string {
  return error instanceof DownloadError
    ? error.message
    : `it could not be stored (${systemCode(error) ?? messageOf(error)})`
}

/** Runs at most `limit` operations concurrently. */
async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Map<Item, Result>> {
  const results = new Map<Item, Result>()
  const rest = items.entries()
  const worker = async () => {
    for (const [index, item] of rest) results.set(item, await work(item, index))
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return results
}
