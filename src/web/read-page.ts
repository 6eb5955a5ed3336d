/**
 * Reads a page of the web as Markdown: HTML, PDF and text.
 */
import { z } from 'zod'
import { raceAbort } from '../lib/timers.ts'
import { startWorker, WorkerTimeoutError } from '../lib/worker.ts'
import { WebError } from './call-service.ts'
import type { ExtractedPage } from './services.ts'

/** What a server sent. */
export interface FetchedPage {
  readonly bytes: Uint8Array
  /** '' if the server said none. */
  readonly contentType: string
  /** Where the page was found after redirects. */
  readonly url: string
}

/** Limits a response. */
export const maxPageBytes = 10 * 1_048_576
/** The rest of longer HTML is left out. */
const maxHtmlBytes = 3 * 1_048_576
/** Limits the heap of the thread that converts a page. */
const maxHeapMb = 256
/** Limits the growth of the process while a page is converted. */
const maxGrowthBytes = 400 * 1_048_576
const convertTimeoutMs = 20_000
/** More Markdown does not enter the process. */
const maxMarkdownChars = 2_000_000

/** Rejects with `WebError` for what is no text, and with the signal's reason. */
export async function toPage(
  { bytes, contentType, url }: FetchedPage,
  requested: string,
  signal: AbortSignal,
): Promise<ExtractedPage> {
  const [type = ''] = contentType.toLowerCase().split(';', 1)
  const kind = kindOf(type.trim(), bytes)
  switch (kind) {
    case 'text':
      return { url: requested, title: '', content: decode(bytes, contentType) }
    case 'html': {
      const html = decode(bytes.subarray(0, maxHtmlBytes), contentType)
      const { title, content } = await convertAlone({ kind, html, url }, signal)
      const rest = bytes.length > maxHtmlBytes ? '\n\n[The rest of the page was left out.]' : ''
      return { url: requested, title, content: `${content}${rest}` }
    }
    case 'pdf':
      return { url: requested, ...(await convertAlone({ kind, bytes }, signal)) }
    case 'other':
      throw new WebError('no_text', `It is a file of the type ${type.trim() || 'unknown'}, which has no text to read.`)
  }
}

function kindOf(type: string, bytes: Uint8Array): 'html' | 'pdf' | 'text' | 'other' {
  if (startsWith(bytes, '%PDF-')) return 'pdf'
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html'
  if (isTextType(type)) return 'text'
  const isUnnamed = type === '' || type === 'application/octet-stream'
  if (!isUnnamed || bytes.subarray(0, 8_192).includes(0)) return 'other'
  return /^\s*<(?:!doctype html|html|head|body)\b/i.test(decode(bytes.subarray(0, 1_024), '')) ? 'html' : 'text'
}

function isTextType(type: string): boolean {
  return type.startsWith('text/') || /^application\/(?:[\w.+-]*\+)?(?:json|xml|yaml|x-yaml|javascript|toml)$/.test(type)
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, text.length)).toString('latin1') === text
}

/** In the charset that the server or the page names; an unknown one is read as UTF-8. Never throws. */
function decode(bytes: Uint8Array, contentType: string): string {
  const head = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1')
  const named = /charset\s*=\s*["']?([\w-]+)/i
  const label =
    named.exec(contentType)?.[1] ?? /<meta[^>]{0,200}?charset\s*=\s*["']?([\w-]+)/i.exec(head)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    // `TextDecoder` knows every charset of the web.
    return new TextDecoder().decode(bytes)
  }
}

type Convertible = { kind: 'html'; html: string; url: string } | { kind: 'pdf'; bytes: Uint8Array }

let previous: Promise<unknown> = Promise.resolve()

/** One page after the other in the whole process, because each may take as much memory as its thread has. */
function convertAlone(data: Convertible, signal: AbortSignal): ReturnType<typeof convert> {
  const work = async () => await convert(data, signal)
  const conversion = previous.then(work, work)
  previous = conversion.catch(() => undefined)
  return raceAbort(conversion, signal)
}

const convertedSchema = z.object({ title: z.string(), content: z.string() })

async function convert(
  data: Convertible,
  signal: AbortSignal,
): Promise<{ readonly title: string; readonly content: string }> {
  signal.throwIfAborted()
  const worker = startWorker(new URL('./page-worker.ts', import.meta.url), data, { maxHeapMb })
  const memory = watchMemory(() => void worker.stop())
  try {
    const { title, content } = convertedSchema.parse(await worker.receive(convertTimeoutMs, signal))
    return { title: title.slice(0, 500), content: content.slice(0, maxMarkdownChars) }
  } catch (error) {
    signal.throwIfAborted()
    const isSlow = error instanceof WorkerTimeoutError
    const reason = isSlow ? 'Reading it took too long.' : 'It is damaged, or too large to read.'
    throw new WebError(isSlow ? 'timeout' : 'unreadable', reason, { cause: error })
  } finally {
    memory.stop()
    await worker.stop()
  }
}

/**
 * The limit of a thread counts no buffers, and a small PDF file can unpack to gigabytes. Other work of the process counts, too: the
 * page is then not read, which does less harm than the end of the process.
 */
function watchMemory(onExcess: () => void): { stop(): void } {
  const before = process.memoryUsage.rss()
  const timer = setInterval(() => {
    if (process.memoryUsage.rss() - before > maxGrowthBytes) onExcess()
  }, 20)
  return { stop: () => clearInterval(timer) }
}
