/**
 * The text of a PDF file, page by page. Runs in a thread of its own.
 */
import { extractText, getDocumentProxy, getMeta } from 'unpdf'
import type { ConvertedPage } from './html-to-markdown.ts'

/** Rejects for a file that is damaged, or that needs a password. */
export async function pdfToText(bytes: Uint8Array): Promise<ConvertedPage> {
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 })
  const { text } = await extractText(pdf, { mergePages: false })
  const { info } = await getMeta(pdf)
  const title: unknown = info['Title']
  const content = text.map((page, index) => (text.length === 1 ? page : `## Page ${index + 1}\n\n${page}`)).join('\n\n')
  return { title: typeof title === 'string' ? title : '', content: content.trim() }
}
