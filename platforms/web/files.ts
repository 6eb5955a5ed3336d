/**
 * The files of messages on the page: what the agent sends is kept, because the agent may write another file of this name.
 */
import { createHash } from 'node:crypto'
import {
  type ChatEntry,
  type ChatFile,
  HermesError,
  type OpenedFile,
  type OutboundAttachment,
  type PlatformContext,
} from '#sdk'
import type { WireEntry, WireFile } from './protocol.ts'

const folder = 'sent'
/** A page learns of a file when it is stored for sending, and may ask for it before it is kept. */
const arrivalMs = 10_000
const maxWaiting = 50

export interface PageFiles {
  /** Keeps a file of the agent. Throws `media/...`, `store/full`, or the error of the file. */
  keep(deliveryId: string, attachment: OutboundAttachment, signal: AbortSignal): Promise<void>
  /** Answers `GET /web/files/*`. Throws `http/not-found`. */
  serve(request: Request): Promise<Response>
}

export function createPageFiles({ files }: Pick<PlatformContext, 'files'>): PageFiles {
  /** Requests for files that are not kept yet. */
  const waiting = new Map<string, Set<() => void>>()

  return {
    async keep(deliveryId, { fileName, mimeType, source }, signal) {
      const name = keptName(deliveryId)
      const content = source.kind === 'url' ? { url: source.url, signal } : (await source.open()).stream()
      await files.store(content, { fileName, mimeType, name: { folder, name } })
      for (const resolve of waiting.get(`${folder}/${name}`) ?? []) resolve()
    },
    async serve(request) {
      const url = new URL(request.url)
      const name = url.pathname.slice('/web/files/'.length)
      const isNew = url.searchParams.has('new') && name.startsWith(`${folder}/`)
      const file = (await files.open(name)) ?? (isNew ? await waitFor(name, request.signal) : undefined)
      if (file === undefined) throw new HermesError('http/not-found', 'The file is not kept any more.')
      const { mimeType, bytes } = file
      return new Response(toStream(file), {
        headers: {
          // What a browser could run is never served with its type.
          'content-type': isShown(mimeType) ? mimeType : 'application/octet-stream',
          'content-length': String(bytes),
          'content-disposition': 'attachment',
          'cache-control': 'private, max-age=3600',
          'x-content-type-options': 'nosniff',
        },
      })
    },
  }

  async function waitFor(name: string, signal: AbortSignal): ReturnType<typeof files.open> {
    if (waiting.size >= maxWaiting) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    const those = waiting.get(name) ?? new Set()
    waiting.set(name, those.add(resolve))
    const timeout = setTimeout(resolve, arrivalMs)
    signal.addEventListener('abort', () => resolve(), { once: true })
    try {
      // It may have been kept since the first look.
      const file = await files.open(name)
      if (file !== undefined) return file
      await promise
      return await files.open(name)
    } finally {
      clearTimeout(timeout)
      those.delete(resolve)
      if (those.size === 0) waiting.delete(name)
    }
  }
}

export function toWireEntry({ files, ...entry }: ChatEntry): WireEntry {
  return files === undefined ? entry : { ...entry, files: files.map(toWireFile) }
}

function toWireFile({ name, deliveryId, ...file }: ChatFile): WireFile {
  const path = deliveryId === undefined ? name : `${folder}/${keptName(deliveryId)}`
  return path === undefined ? file : { ...file, path }
}

function keptName(deliveryId: string): string {
  return createHash('sha256').update(deliveryId).digest('hex').slice(0, 40)
}

function isShown(mimeType: string): boolean {
  return /^(?:image\/(?!svg)|audio\/|video\/)/.test(mimeType)
}

function toStream({ content, close }: OpenedFile): ReadableStream<Uint8Array> {
  const pieces = content[Symbol.asyncIterator]()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await pieces.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      cancel: close,
    },
    // Nothing is read before the client reads, as for HEAD.
    { highWaterMark: 0 },
  )
}
