/**
 * The thread that turns a page or a PDF file into Markdown: a hostile page may take its time and its memory only here.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { z } from 'zod'
import { registerResolver } from '../packages/register-resolver.mjs'

registerResolver()

const dataSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('html'), html: z.string(), url: z.string() }),
  z.object({ kind: z.literal('pdf'), bytes: z.instanceof(Uint8Array) }),
])

parentPort?.postMessage(await convert(dataSchema.parse(workerData)))

async function convert(data: z.output<typeof dataSchema>) {
  if (data.kind === 'html') return (await import('./html-to-markdown.ts')).htmlToMarkdown(data.html, data.url)
  return await (await import('./pdf-to-text.ts')).pdfToText(data.bytes)
}
